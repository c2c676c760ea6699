"""Checks the teacher against PyTorch, independently of recorder and tile machine.

A program is traced with a dispatch mode, teach_file writes candidates for it, and every candidate runs under Triton's
interpreter on the CPU. Its outputs must agree with the program's in float64.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

import interpreter
import torch
import torch.nn as nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

TEACH_FILE = os.environ.get("TEACH_FILE", "")
interpreter.patch()


class Tracer(TorchDispatchMode):
    """Turns the ATen calls of one run into a program; in-place calls become functional ones."""

    def __init__(self):
        super().__init__()
        self.nodes, self.ids, self.alive = [], {}, []

    def leaf(self, kind, name, tensor):
        self.ids[id(tensor)] = (len(self.nodes), 0)
        self.alive.append(tensor)
        self.nodes.append({"kind": kind, "name": name, "op": "", "args": [], "kwargs": {}, "results": [meta(tensor)]})

    def value(self, v):
        if isinstance(v, torch.Tensor):
            return {"ref": self.ids[id(v)]}
        if isinstance(v, torch.dtype):
            return {"dtype": str(v)[6:]}
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        if isinstance(v, float):
            return {"float": repr(v)}
        return v if v is None or isinstance(v, (bool, int, str)) else str(v).replace("torch.", "")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        overload = "" if func._overloadname == "default" else "." + func._overloadname
        functional = {"aten::fill_.Scalar": "aten::full_like", "aten::zero_": "aten::zeros_like"}  # as Lift says it
        op = functional.get(func._schema.name + overload, func._schema.name.removesuffix("_") + overload)
        node = {"kind": "op", "name": "", "op": op, "args": self.value(args),
                "kwargs": {k: self.value(v) for k, v in kwargs.items() if k != "device"}}
        result = func(*args, **kwargs)
        tensors = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
        for i, tensor in enumerate(tensors):
            self.ids[id(tensor)] = (len(self.nodes), i)
            self.alive.append(tensor)
        node["results"] = [meta(t) for t in tensors]
        self.nodes.append(node)
        return result


def meta(tensor):
    return [str(tensor.dtype)[6:], list(tensor.shape)]


def structure(value):
    if isinstance(value, torch.Tensor):
        return "*"
    if isinstance(value, dict):
        return "{" + ",".join(f'"{k}":{structure(v)}' for k, v in value.items()) + "}"
    inner = ",".join(map(structure, value))
    return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"


def trace(model, inputs, names):
    tracer = Tracer()
    for name, tensor in zip(names, inputs):
        tracer.leaf("input", name, tensor)
    if isinstance(model, nn.Module):
        for name, tensor in model.named_parameters():
            tracer.leaf("parameter", name, tensor)
        for name, tensor in model.named_buffers():
            tracer.leaf("buffer", name, tensor)
    with torch.no_grad(), tracer:
        result = model(*inputs)
    leaves = pytree.tree_leaves(result)
    return {"nodes": tracer.nodes, "outputs": [tracer.ids[id(t)] for t in leaves], "structure": structure(result)}, result


def teach(program, source, entry, is_function, strict=False, count=16, fp32_precision="ieee", simple=False):
    request = {"program": program, "reference_source": source, "entry": entry, "is_function": is_function,
               "strict": strict, "count": count, "fp32_precision": fp32_precision, "simple": simple}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(request, file)
        file.flush()
        done = subprocess.run([TEACH_FILE, file.name], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"teach_file failed: {done.stderr}")
    return json.loads(done.stdout)


def load(source, folder, name):
    """Imports source as a file, which @triton.jit needs to find its own text."""
    import importlib.util

    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def worst_error(got, want):
    """Largest difference, relative to the size of the wanted values; infinite where shapes or dtypes differ."""
    got, want = pytree.tree_leaves(got), pytree.tree_leaves(want)
    if len(got) != len(want):
        return float("inf")
    worst = 0.0
    for g, w in zip(got, want):
        if g.shape != w.shape or g.dtype != w.dtype:
            return float("inf")
        g, w = g.double(), w.double()
        same = (g == w) | (g.isnan() & w.isnan())
        scale = w[w.isfinite()].abs().max().clamp(min=1e-3) if w.isfinite().any() else 1.0
        difference = torch.where(same, 0.0, (g - w).abs() / scale)
        worst = max(worst, float(torch.nan_to_num(difference, nan=float("inf")).max())) if g.numel() else worst
    return worst


def file_of(shapes, body):
    count = shapes.count("(")
    names = "xyz"[:count]
    return (f"import torch\nimport torch.nn.functional as F\n\n\ndef f({', '.join(names)}):\n    return {body}\n\n\n"
            f"def get_inputs():\n    return [torch.randn(s) for s in ({shapes},)]\n")


def check(source, entry="Model", is_function=False, strict=False, tolerance=2e-5, count=16, show=False, without="",
          fp32_precision="ieee", with_first="", simple=False):
    """Errors of all candidates for a file, by strategy (but those with `without` in their names); raises when one is wrong or the printed
    program is, or where the first lacks the text `with_first`. `simple`: candidates to learn from."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        reference = load(source, folder, "reference")
        init = reference.get_init_inputs() if hasattr(reference, "get_init_inputs") else []
        target = getattr(reference, entry)
        model = target if is_function else target(*init)
        inputs = reference.get_inputs()
        if not is_function:
            for p in model.parameters():  # weights of ones and zeros would hide mistakes
                p.data.add_(0.1 * torch.randn_like(p))
            for b in model.buffers():
                if b.is_floating_point():
                    b.data.add_(0.1 * torch.rand_like(b))
        names = [f"x{i}" for i in range(len(inputs))] if len(inputs) > 1 else ["x"]
        before = copy.deepcopy(inputs)  # the program may write into them, and into its state
        state = {} if is_function else copy.deepcopy(model.state_dict())
        program, want = trace(model, inputs, names)
        left = [b.clone() for b in statistics(model)]
        told = teach(program, source, entry, is_function, strict, count, fp32_precision, simple)
        if show:
            print(told["printed"])
        check_printed(told["printed"], model, copy.deepcopy(before), want, folder)
        assert with_first in told["answers"][0]["source"], told["answers"][0]["source"]
        errors = {}
        for i, answer in enumerate(told["answers"]):
            if without and without in answer["strategy"]:
                continue
            if show:
                print("=" * 30, answer["strategy"], "\n" + answer["plan"], "\n" + answer["source"])
            module = load(answer["source"], folder, f"candidate{i}")
            candidate = module.ModelNew(*init)
            if not is_function:
                candidate.load_state_dict(state)
                candidate.train(model.training)
            with torch.no_grad():
                given = copy.deepcopy(before)
                got = candidate(*given)
                errors[answer["strategy"]] = worst_error([got, given, statistics(candidate)], [want, inputs, left])
        wrong = {k: e for k, e in errors.items() if not e <= tolerance}
        assert not wrong, f"wrong: {wrong}"
        return errors


def statistics(model):
    """Running ones, which a call leaves behind; counters of calls are nothing that a result depends on."""
    return [b for b in model.buffers() if b.is_floating_point()] if isinstance(model, nn.Module) else []


def check_printed(text, model, inputs, want, folder):
    program = load(text, folder, "printed").program
    state = [*dict(model.named_parameters()).values(), *dict(model.named_buffers()).values()] if isinstance(
        model, nn.Module) else []
    with torch.no_grad():
        got = program(*inputs, *state)
    for g, w in zip(pytree.tree_leaves(got), pytree.tree_leaves(want)):
        assert torch.equal(g, w) or worst_error(g, w) < 1e-6, "the printed program differs"


if __name__ == "__main__":
    for path in sys.argv[1:]:
        text = open(path).read()
        function = "class Model" not in text
        entry = os.path.basename(path)[:-3] if function else "Model"
        print(path, check(text, entry, function, show=True))
