#!/usr/bin/env python3
"""Draws tasks at real sizes for `tritogen eval --suite kernelbench FOLDER`: programs that nobody wrote the teacher for.

    bench/draw_tasks.py chains OUT [--count 100] [--seed 1] [--small]
    bench/draw_tasks.py mutants FOLDER OUT [--each 1] [--seed 1] [--most-elements 134217728]

chains: a linear layer or a convolution of any form, and one to five operations behind it, that take a GPU 0.1 to 10 ms; --small: for the
tile machine. mutants: the tasks of FOLDER (files with Model, get_inputs and get_init_inputs) with other numbers at module level. What
does not run on meta tensors, or is out of bounds, is drawn anew. The code of FOLDER is executed here.
"""

import argparse
import ast
import pathlib
import random

import torch
from torch.utils.flop_counter import FlopCounterMode

MOST_FLOPS = 2e12
POINTWISE = """
torch.relu(x)|F.gelu(x)|F.gelu(x, approximate='tanh')|F.mish(x)|F.hardswish(x)|torch.tanh(x)|torch.sigmoid(x)|x * torch.sigmoid(x)
F.softplus(x)|F.leaky_relu(x, 0.1)|F.hardtanh(x)|torch.clamp(x, -1.0, 2.0)|x * 2.0|x / 3.0|x + 0.5|x - 0.25|F.elu(x)|F.selu(x)|F.silu(x)
torch.abs(x)|x ** 2|F.hardsigmoid(x)|F.relu6(x)|torch.clamp(x, min=0.0)|F.dropout(x, 0.0)|torch.exp(-x.abs())|F.softsign(x)
torch.sqrt(x.abs() + 1e-6)|F.tanhshrink(x)|F.celu(x)|F.logsigmoid(x)|torch.log1p(x.abs())|torch.sin(x)
""".strip().replace("\n", "|").split("|")
ACROSS = """
torch.min(x, dim=1, keepdim=True)[0]|torch.max(x, dim=1, keepdim=True).values|x - x.mean(dim=1, keepdim=True)|F.normalize(x, dim=1)
torch.softmax(x, dim=1)|torch.softmax(x, dim=-1)|torch.log_softmax(x, dim=1)|torch.logsumexp(x, dim=1, keepdim=True)
torch.mean(x, dim=1, keepdim=True)|torch.sum(x, dim=-1, keepdim=True)|torch.amax(x, dim=-1, keepdim=True)|x.norm(dim=1, keepdim=True)
x / (1 + x.abs().max())|torch.cumsum(x, dim=1)
""".strip().replace("\n", "|").split("|")


class Chain:
    """Lines of a module's constructor and of its forward, which grow together."""

    def __init__(self, draw: random.Random, small: bool):
        self.draw, self.init, self.forward = draw, [], ["x = self.head(x)"]
        kind = draw.choice(["Linear", "Conv1d", "Conv2d", "Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose2d", "ConvTranspose3d"])
        layer, sizes = self.linear(small) if kind == "Linear" else self.convolution(kind, small)
        self.name = kind
        self.init.append(f"self.head = nn.{kind}({layer}{draw.choice(['', '', ', bias=False'])})")
        self.inputs = f"torch.{draw.choice(['rand', 'randn'])}({', '.join(map(str, sizes))})"

    def linear(self, small: bool) -> tuple[str, list[int]]:
        choose = self.draw.choice
        if small:
            k, n, rows = choose([20, 32, 50, 100]), choose([16, 32, 48, 100]), choose([4, 7, 16, 33])
        else:
            k, n, rows = choose([512, 1000, 2048, 4096, 8192]), choose([512, 1024, 3000, 8192]), choose([128, 256, 1000, 1024, 4096])
        return f"{k}, {n}", [rows, k]

    def convolution(self, kind: str, small: bool) -> tuple[str, list[int]]:
        choose, dimensions = self.draw.choice, int(kind[-2])
        images, channels = choose([1, 2, 3] if small else [8, 16, 32, 64, 128]), choose([3, 4, 8] if small else [3, 8, 16, 32, 64])
        results = choose([4, 8, 12] if small else [16, 24, 32, 64, 128])
        window, stride, dilation = choose([1, 2, 3, 3, 3, 4, 5, 7]), choose([1, 1, 1, 2, 2, 3]), choose([1, 1, 1, 2])
        padding = choose([0, 1, 1, window // 2])
        groups = choose([g for g in (1, 1, 1, 2, 4) if channels % g == 0 and results % g == 0])
        side = {1: [32, 100] if small else [1024, 4096, 10000, 16384], 2: [8, 9, 16] if small else [32, 56, 64, 100, 128, 224],
                3: [4, 6, 7] if small else [8, 16, 24, 32]}[dimensions]  # fmt: skip
        sizes = [choose(side)] * dimensions
        sizes[-1] = choose([sizes[-1], sizes[-1], sizes[-1] // 2, sizes[-1] + 7])
        layer = f"{channels}, {results}, {window}, stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"
        if "Transpose" in kind and stride > 1 and self.draw.random() < 0.4:
            layer += ", output_padding=1"
        return layer, [min(images, 16) if dimensions == 3 else images, channels, *sizes]

    def grow(self, shape: list[int]) -> None:
        choose, channels, dimensions, number = self.draw.choice, shape[1], len(shape) - 2, len(self.init)
        groups = choose([g for g in (1, 2, 4, 8, 16, 32) if channels % g == 0])
        layers = [f"nn.BatchNorm{max(dimensions, 1)}d({channels})", f"nn.GroupNorm({groups}, {channels})"]
        if dimensions > 0:
            layers.append(f"nn.InstanceNorm{dimensions}d({channels}{choose(['', ', affine=True'])})")
            layers.append(f"nn.MaxPool{dimensions}d({choose([2, 2, 3])}, stride={choose([1, 2])})")
            layers += [f"nn.AvgPool{dimensions}d({choose([2, 3, 4])})", f"nn.AdaptiveAvgPool{dimensions}d(1)"]
        else:
            layers.append(f"nn.LayerNorm({channels})")
        form = choose(["pointwise"] * 5 + ["across", "layer", "layer", "parameter", "residual"])
        if form == "pointwise":
            self.forward.append("x = " + choose(POINTWISE))
        elif form == "across":
            self.forward.append("x = " + choose(ACROSS))
        elif form == "layer":
            self.init.append(f"self.layer{number} = {choose(layers)}")
            self.forward.append(f"x = self.layer{number}(x)")
        elif form == "parameter":
            self.init.append(f"self.p{number} = nn.Parameter(torch.rand({', '.join(map(str, [channels] + [1] * dimensions))}) + 0.5)")
            self.forward.append(f"x = x {choose('+-*/')} self.p{number}")
        else:
            if "y = x" not in self.forward:
                self.forward.insert(1, "y = x")
            self.forward.append(choose(["x = x + y", "x = x * y", "x = (x + y) / 2"]))

    def text(self) -> str:
        lines = ["import torch", "import torch.nn as nn", "import torch.nn.functional as F", "", "", "class Model(nn.Module):"]
        lines += ["    def __init__(self):", "        super().__init__()", *(f"        {line}" for line in self.init), ""]
        lines += ["    def forward(self, x):", *(f"        {line}" for line in self.forward), "        return x", "", ""]
        lines += ["def get_inputs():", f"    return [{self.inputs}]", "", "", "def get_init_inputs():", "    return []", ""]
        return "\n".join(lines)


def weigh(text: str) -> tuple[list[int], int, float]:
    """Shape of the (first) result, elements of inputs, parameters and it, FLOPs. Throws what the task's own code throws."""
    names: dict = {"__name__": "task"}
    exec(compile(text, "task", "exec"), names)
    with torch.device("meta"), FlopCounterMode(display=False) as flops:
        model, inputs = names["Model"](*names["get_init_inputs"]()), names["get_inputs"]()
        results = model(*inputs)
    result = results if torch.is_tensor(results) else results[0]
    tensors = [*(x for x in inputs if torch.is_tensor(x)), *model.parameters(), result]
    return list(result.shape), sum(x.numel() for x in tensors), flops.get_total_flops()


def draw_chain(draw: random.Random, small: bool) -> Chain | None:
    chain = Chain(draw, small)
    try:
        head = weigh(chain.text())
        low, high = (1, 1 << 17) if small else (1 << 20, 3 << 26)
        if not low <= head[1] <= high or head[2] > MOST_FLOPS:
            return None
        for _ in range(draw.randint(1, 5)):
            shape = weigh(chain.text())[0]
            if len(shape) < 2:
                break
            chain.grow(shape)
        nothing = 0 in weigh(chain.text())[0]  # meta tensors do not mind
    except (RuntimeError, ValueError):  # a window larger than what is left, say
        return None
    return None if nothing else chain


def changed(name: str, value: object, draw: random.Random) -> object:
    """Another number in the place of one that a module names so."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if "kernel" in name:
        return draw.choice([1, 2, 3, 3, 4, 5, 5, 7, 9, 11])
    if "stride" in name:
        return draw.choice([1, 1, 2, 2, 3, 4])
    if "padd" in name or "dilation" in name:
        return max(0, value + draw.choice([-1, 0, 0, 1, 2]))
    if "group" in name:
        return draw.choice([value, 1, 2, 4, 8, 16])
    if value <= 4:
        return max(0, value + draw.choice([-1, 0, 0, 1]))
    scaled = max(1, int(value * draw.choice([0.25, 0.5, 0.5, 1, 1, 2, 2, 4])))
    return max(1, scaled + draw.choice([0, 0, 0, -3, -1, 1, 5]))


def mutant(text: str, draw: random.Random) -> str:
    tree = ast.parse(text)
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        name = node.targets[0].id.lower() if isinstance(node.targets[0], ast.Name) else ""
        for number in ast.walk(node.value):
            if isinstance(number, ast.Constant) and draw.random() < 0.55:
                number.value = changed(name, number.value, draw)
    return ast.unparse(tree)


def write_chains(arguments: argparse.Namespace) -> None:
    draw, made = random.Random(arguments.seed), 0
    while made < arguments.count:
        if chain := draw_chain(draw, arguments.small):
            (arguments.out / f"chain{made:03d}_{chain.name}.py").write_text(chain.text())
            made += 1


def write_mutants(arguments: argparse.Namespace) -> None:
    tries = 120  # of one task
    for file in sorted(arguments.folder.glob("*.py")):
        text, draw = file.read_text(), random.Random(f"{arguments.seed} {file.name}")
        seen, made = {ast.unparse(ast.parse(text))}, 0
        for _ in range(tries):
            if made == arguments.each:
                break
            other = mutant(text, draw)
            try:
                _, elements, flops = weigh(other) if other not in seen else ([], 0, 0)
            except Exception:  # noqa: BLE001 - whatever a task's code says of numbers that do not go together
                continue
            seen.add(other)
            if not 1 << 18 <= elements <= arguments.most_elements or flops > MOST_FLOPS:
                continue
            (arguments.out / f"{file.stem}_{made}.py").write_text(other + "\n")
            made += 1
        print(f"{file.name}: {made}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(required=True)
    chains, mutants = kinds.add_parser("chains"), kinds.add_parser("mutants")
    mutants.add_argument("folder", type=pathlib.Path)
    for kind, write in ((chains, write_chains), (mutants, write_mutants)):
        kind.add_argument("out", type=pathlib.Path)
        kind.add_argument("--seed", type=int, default=1)
        kind.set_defaults(write=write)
    chains.add_argument("--count", type=int, default=100)
    chains.add_argument("--small", action="store_true", help="for the tile machine")
    mutants.add_argument("--each", type=int, default=1)
    mutants.add_argument("--most-elements", type=int, default=1 << 27)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.write(arguments)


if __name__ == "__main__":
    main()
