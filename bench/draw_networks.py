#!/usr/bin/env python3
"""Draws networks for `tritogen eval --suite kernelbench FOLDER`: blocks as researchers write them, in orders that nobody chose.

    bench/draw_networks.py OUT [--count 100] [--seed 1] [--small]

A network: maybe a stem, one to three blocks of a stream (images, sequences, vectors), maybe another stream and one of its blocks, a head or
a loss; sizes that take a GPU 0.1 to 10 ms; --small: for the tile machine. What does not run on meta tensors, or is out of bounds, is drawn
anew. Blocks are in bench/networks/. --try: each block by itself, --count times, and what its code throws.
"""

import argparse
import collections
import copy
import pathlib
import random
import re

import torch
from draw_tasks import weigh
from torch.utils._python_dispatch import TorchDispatchMode

STEMS = {
    "images": "nn.Sequential(nn.Conv2d({1}, {0}, {{3|5|7}}, stride={{1|2}}, padding={{1|2|3}}, bias=False), "
              "$Norm2[{0}], $Act{{|, nn.MaxPool2d(3, 2, 1)}})",
    "sequences": "nn.Embedding(50, {0})", "vectors": "nn.Linear({1}, {0})"}  # fmt: skip
HEADS = {
    "images": ["nn.Conv2d(dim, 3, 1)", "nn.Sequential(nn.Conv2d(dim, 1, 3, padding=1), nn.Sigmoid())", ""],
    "sequences": ["nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 21, bias=False))", "nn.Linear(dim, 5)", ""],
    "vectors": ["nn.Linear(dim, 10)", "nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 7), nn.LogSoftmax(dim=-1))", ""]}  # fmt: skip
ACTIVATIONS = [("F.relu", "ReLU()"), ("F.gelu", "GELU()"), ("F.silu", "SiLU(inplace=True)"), ("torch.tanh", "Tanh()"), ("F.mish", "Mish()"),
               ("F.hardswish", "Hardswish()"), ("F.leaky_relu", "LeakyReLU(0.1, inplace=True)"), ("F.elu", "ELU()")]  # fmt: skip
NORMS = {
    "Norm2": ["nn.BatchNorm2d(#)", "nn.GroupNorm(1, #)", "nn.InstanceNorm2d(#, affine=True)", "nn.BatchNorm2d(#, affine=False)"],
    "NormT": ["nn.LayerNorm(#)", "nn.RMSNorm(#)", "nn.LayerNorm(#, bias=False)", "nn.LayerNorm(#, elementwise_affine=False)"]}  # fmt: skip
AFTERWARDS = {
    "images": [["images_to_vectors"], ["images_to_vectors", "vectors"], ["images_to_sequences", "sequences"],
               ["images_to_sequences", "sequences", "sequences_to_vectors"]],
    "sequences": [["sequences_to_vectors"], ["sequences_to_vectors", "vectors"]], "vectors": [["vectors"]]}  # fmt: skip


class Limits(TorchDispatchMode):
    """Counts operations and keeps the number of elements of the largest tensor."""

    def __init__(self):
        super().__init__()
        self.least, self.most, self.operations = 1, 0, 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        results = function(*arguments, **(keywords or {}))
        self.operations += 1
        for result in results if isinstance(results, (tuple, list)) else [results]:
            if torch.is_tensor(result) and result.dim() > 1:  # batch norm has empty lines on meta tensors
                self.most, self.least = max(self.most, result.numel()), min(self.least, result.numel())
        return results


def blocks_of(file: pathlib.Path) -> dict[str, tuple[str, str]]:
    """Name → constructor and forward, both with what is still to choose.

    A block of a file: its name, statements of its constructor, => and those of its forward. `;` and ends of lines separate statements,
    `> ` indents one. {a|b} is either, $name is drawn once for each block (Network.draws), $Norm2[n] and $NormT[n] each time;
    `input c = ...` is one more argument of the network.
    """
    parts = re.split(r"\n(?=[a-z0-9_]+: )", file.read_text().strip())
    split = [(name, *body.split("=> ", 1)) for name, body in (part.split(": ", 1) for part in parts)]
    return {name: (init, forward) for name, init, forward in split}


FOLDER = pathlib.Path(__file__).parent / "networks"
BLOCKS: dict[str, dict[str, tuple[str, str]]] = {}
for file in sorted(set(FOLDER.glob("*.txt")) - {FOLDER / "losses.txt"}):
    BLOCKS.setdefault(file.stem.split(".")[0], {}).update(blocks_of(file))
LOSSES = {stream: lines for stream, *lines in (part.split("\n") for part in (FOLDER / "losses.txt").read_text().strip().split("\n\n"))}


def statements(text: str) -> list[str]:
    lines = (line.strip() for line in text.replace("\n", ";").split(";"))
    return ["    " + line[2:] if line.startswith("> ") else line for line in lines if line]


SIZES = {  # batch; channels and side, or length and channels, or channels
    ("images", "small"): [[1, 2, 3], [4, 6, 8, 12], [6, 7, 8, 10]], ("images", "long"): [[1, 2], [3, 4, 6], [16, 21, 28, 33]],
    ("images", "real"): [[4, 8, 16], [32, 48, 64, 96, 128], [14, 28, 30, 32, 56, 64]],
    ("sequences", "small"): [[1, 2, 3], [5, 8, 9, 12, 16], [8, 12, 16, 18, 24]],
    ("sequences", "long"): [[1, 2], [40, 64, 100, 130, 300], [6, 8, 16, 32]],
    ("sequences", "real"): [[4, 8, 16], [48, 64, 100, 197, 256, 512], [128, 192, 384, 512, 768]],
    ("vectors", "small"): [[4, 6, 16], [8, 15, 20, 32]], ("vectors", "long"): [[2, 3, 90, 130], [30, 64, 100]],
    ("vectors", "real"): [[256, 1000, 2048, 4096], [128, 200, 512, 1024]]}  # fmt: skip


class Network:
    """Classes of blocks, and lines of Model's constructor and forward, which grow together."""

    def __init__(self, draw: random.Random, small: bool, stream: str = ""):
        self.draw, self.small, self.weight = draw, small, 0.0
        self.classes: dict[str, list[str]] = {}
        self.init: list[str] = []
        self.forward: list[str] = []
        self.inputs: list[tuple[str, str]] = []
        self.names: list[str] = []  # of blocks
        self.stream = stream or draw.choice(["images", "images", "sequences", "sequences", "vectors"])
        sizes = [draw.choice(choices) for choices in SIZES[self.stream, draw.choice(["small"] * 3 + ["long"]) if small else "real"]]
        self.batch, *sizes = [*sizes, draw.choice([sizes[-1], sizes[-1] + 2, sizes[-1] // 2 + 2])] if self.stream == "images" else sizes
        self.start(sizes)

    def copy(self) -> "Network":
        other = copy.copy(self)
        other.classes, other.init, other.inputs = dict(self.classes), self.init[:], self.inputs[:]
        other.names, other.forward = self.names[:], self.forward[:]
        return other

    def start(self, sizes: list[int]) -> None:
        choose = self.draw.choice
        if self.draw.random() < 0.5 or (self.stream == "sequences" and self.draw.random() < 0.5):
            self.inputs.append(("x", f"torch.{choose(['randn', 'randn', 'rand'])}({', '.join(map(str, [self.batch, *sizes]))})"))
            return
        channel = 0 if self.stream == "images" else -1
        before = choose([1, 3]) if self.stream == "images" else sizes[channel] + choose([-3, 0, 4])
        stem = STEMS[self.stream].format(sizes[channel], before)
        if self.stream == "sequences":
            self.inputs.append(("x", f"torch.randint(0, 50, ({self.batch}, {sizes[0]}))"))
        else:
            sizes[channel] = before
            self.inputs.append(("x", f"torch.randn({', '.join(map(str, [self.batch, *sizes]))})"))
        self.init.append("self.stem = " + self.chosen(stem, self.draws([self.batch, 4, 4, 4])))
        self.forward.append("x = self.stem(x)")

    def draws(self, shape: list[int]) -> dict[str, object]:
        """What $names stand for in one block."""
        choose, dim = self.draw.choice, shape[1] if len(shape) == 4 else shape[-1]
        act, layer = choose(ACTIVATIONS)
        values = {"act": act, "Act": "nn." + layer, "k": choose([3, 3, 5, 7]), "r": choose([1, 2, 2, 3]), "stride": choose([1, 1, 2]),
                  "heads": choose([h for h in (1, 2, 3, 4, 6, 8, 12) if dim % h == 0 and dim // h > 1] or [1]), "batch": shape[0],
                  "groups": choose([g for g in (1, 2, 3, 4, 8) if dim % g == 0]), "dim": dim, "shape": tuple(shape)}  # fmt: skip
        if len(shape) == 4:
            values |= {"height": shape[2], "width": shape[3]}
            windows = [s for s in (2, 3, 4, 5, 7, 8) if shape[2] % s == 0 and shape[3] % s == 0]
            values |= {"win": choose(windows)} if windows else {}
        elif len(shape) == 3:
            values |= {"length": shape[1]} | ({"short": "pass"} if shape[1] <= 64 else {})
        return values

    def chosen(self, text: str, values: dict[str, object]) -> str:
        while match := re.search(r"\{([^{}]*)\}", text):
            text = text[: match.start()] + self.draw.choice(match[1].split("|")) + text[match.end() :]
        text = re.sub(r"\$(Norm\w)\[([^\]]*)\]", lambda m: self.draw.choice(NORMS[m[1]]).replace("#", m[2]), text)
        return re.sub(r"\$(\w+)", lambda m: str(values[m[1]]), text)

    def grow(self, kind: str, name: str, shape: list[int]) -> None:
        values, number = self.draws(shape), len(self.names)
        marker = "\n=> "
        init, forward = (statements(part) for part in self.chosen(marker.join(BLOCKS[kind][name]), values).split(marker))
        extra = [line.removeprefix("input ").split(" = ", 1) for line in init if line.startswith("input ")]
        init = [line for line in init if line != "pass" and not line.startswith("input ")]
        title, suffix = "".join(part.title() for part in name.split("_")), f"{number + 1}" if number else ""
        sizes = [size for size in ("dim", "height", "width", "length") if re.search(rf"\b{size}\b(?!=)", "\n".join(init))]
        given = [title_of for title_of, _ in extra]
        title += "" if title not in self.classes else suffix
        self.classes[title] = [
            f"class {title}(nn.Module):", f"    def __init__({', '.join(['self', *sizes])}):", "        super().__init__()",
            *(f"        {line}" for line in init), "", f"    def forward({', '.join(['self', 'x', *given])}):",
            *(f"        {line}" for line in forward), "", ""]  # fmt: skip
        self.inputs += [(f"{argument}{suffix}", value) for argument, value in extra]
        self.names.append(name)
        made = f"{title}({', '.join(str(values[size]) for size in sizes)})"
        self.call(made, f"block{number + 1}", "".join(f", {argument}{suffix}" for argument in given), "_to_" in kind, shape)

    def call(self, made: str, name: str, given: str, changes: bool, shape: list[int]) -> None:
        chance, norm = self.draw.random(), self.draw.choice(NORMS["NormT"]).replace("#", str(shape[-1]))
        if chance < 0.2 and not changes and not given:
            self.init.append(f"self.{name}s = nn.ModuleList([{made} for _ in range(2)])")
            self.forward += [f"for block in self.{name}s:", f"    x = {'x + ' if chance < 0.1 else ''}block(x)"]
        elif chance < 0.4 and not changes and len(shape) < 4:
            self.init += [f"self.norm_{name} = {norm}", f"self.{name} = {made}"]
            self.forward.append(f"x = x + self.{name}(self.norm_{name}(x){given})")
        else:
            self.init.append(f"self.{name} = {made}")
            self.forward.append(f"x = self.{name}(x{given})")

    def finish(self, shape: list[int]) -> None:
        stream, choose = {4: "images", 3: "sequences", 2: "vectors"}[len(shape)], self.draw.choice
        values = self.draws(shape)
        if self.draw.random() < 0.35:
            result, target = self.chosen(choose(LOSSES[stream + ':']), values).split(" >> ")
            self.inputs.append(("target", target))
            self.forward.append(f"return {result}")
            return
        if head := choose(HEADS[stream]):
            self.init.append("self.head = " + re.sub(r"\bdim\b(?!=)", str(values["dim"]), head))
            self.forward.append("x = self.head(x)")
        self.forward.append("return " + choose(["x"] * 6 + ["x, x.mean()", "(x, x.argmax(dim=1))", "x.contiguous()", "x.sum(dim=-1), x"]))

    def text(self) -> str:
        code = "\n".join([line for body in self.classes.values() for line in body] + self.init + self.forward)
        lines = [f"import {name}" for name in ("copy", "math") if f"{name}." in code]
        lines += ["", "import torch"] if lines else ["import torch"]
        lines += ["import torch.nn as nn", "import torch.nn.functional as F"] + (["import einops"] if "einops." in code else [])
        layers = [name for name in ("Rearrange", "Reduce") if f"{name}(" in code]
        lines += [f"from einops.layers.torch import {', '.join(layers)}"] if layers else []
        lines += ["", ""]
        lines += [line for body in self.classes.values() for line in body] + ["class Model(nn.Module):"]
        lines += ["    def __init__(self):", "        super().__init__()", *(f"        {line}" for line in self.init), ""]
        arguments = ", ".join(name for name, _ in self.inputs)
        lines += [f"    def forward(self, {arguments}):", *(f"        {line}" for line in self.forward)]
        lines += ["", "", "def get_inputs():", *(f"    {name} = {value}" for name, value in self.inputs)]
        lines += [f"    return [{arguments}]", "", "", "def get_init_inputs():", "    return []", ""]
        return "\n".join(lines)

    def shape(self) -> list[int]:
        """Of what forward has so far. Throws what its code throws, and ValueError where it is out of bounds."""
        whole = self.copy()
        if not self.forward or not self.forward[-1].startswith("return"):
            whole.forward.append("return x")
        with Limits() as limits:
            shape, elements, flops = weigh(whole.text())
        if limits.least == 0 or limits.operations > 1000:
            raise ValueError("out of bounds")
        most = max(limits.most, elements)
        if most > (30000 if self.small else 1 << 26) or flops > (1e7 if self.small else 4e11):
            raise ValueError("out of bounds")
        self.weight = elements + flops / 100
        return shape


THROWN = (RuntimeError, ValueError, KeyError, IndexError, TypeError, ZeroDivisionError, NotImplementedError)


def run(text: str) -> None:
    names: dict = {"__name__": "task"}
    exec(compile(text, "task", "exec"), names)
    names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())


def grown(network: Network, kind: str, name: str) -> Network | None:
    """The network with one more block, where that runs."""
    other = network.copy()
    try:
        other.grow(kind, name, network.shape())
        other.shape()
    except THROWN:
        return None
    return other


def draw_network(draw: random.Random, small: bool) -> Network | None:
    network = Network(draw, small)
    kinds = [network.stream] * draw.randint(1, 3) + (draw.choice(AFTERWARDS[network.stream]) if draw.random() < 0.5 else [])
    for kind in kinds:
        names = sorted(BLOCKS[kind])
        larger = next((other for _ in range(4) if (other := grown(network, kind, draw.choice(names)))), None)
        if larger is None:
            return None
        network = larger
    try:
        network.finish(network.shape())
        network.shape()
        if small:  # meta tensors do not mind windows that are larger than images
            run(network.text())
    except THROWN:
        return None
    return network if small or network.weight > 1 << 21 else None


def try_blocks(arguments: argparse.Namespace) -> None:
    """Each block by itself: how often it ran, and what its code threw."""
    for kind, blocks in BLOCKS.items():
        for name in blocks:
            draw, thrown = random.Random(f"{arguments.seed} {name}"), collections.Counter()
            for _ in range(arguments.count):
                try:
                    network = Network(draw, arguments.small, kind.split("_to_")[0])
                    network.grow(kind, name, network.shape())
                    network.shape()
                except THROWN as error:
                    thrown[f"{type(error).__name__}: {str(error).splitlines()[0]}"] += 1
            print(f"{kind}: {name}: {arguments.count - thrown.total()} of {arguments.count} run")
            for what, count in thrown.most_common(3):
                print(f"    {count} {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, nargs="?", help="folder; not with --try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--small", action="store_true", help="for the tile machine")
    parser.add_argument("--try", dest="blocks", action="store_true", help="write nothing: each block by itself, and what its code throws")
    arguments = parser.parse_args()
    if arguments.blocks:
        return try_blocks(arguments)
    if arguments.out is None:
        parser.error("a folder is missing")
    arguments.out.mkdir(parents=True, exist_ok=True)
    draw, made = random.Random(arguments.seed), 0
    while made < arguments.count:
        if network := draw_network(draw, arguments.small):
            (arguments.out / f"network{made:03d}_{'_'.join(network.names)[:60]}.py").write_text(network.text())
            made += 1


if __name__ == "__main__":
    main()
