#!/usr/bin/env python3
"""Compiles Tritogen's own kernels to TTIR and writes them as a C++ table (src/kernels/table.h). Needs no GPU.

    kernels/emit.py OUT.cc

One row for each kernel and each choice of types and constants that the program asks for, under the name that it asks for them by:
the kernel's name and its choices, "measure_rows.f32.64". TTIR does not depend on the GPU but for its oldest supported capability.
"""
import pathlib
import sys

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from kernels import bytes as on_bytes  # noqa: E402
from kernels import inputs, measure  # noqa: E402

TARGET = GPUTarget("cuda", 80, 32)
FLOATS = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16"}
COLUMNS = (16, 64, 256, 1024)
TILE = 1024
KINDS = ("spread", "flipped", "shifted", "spikes", "large", "scaled", "binary", "near_one", "swings", "redrawn")
I32 = {"rows", "programs", "samples", "length", "front_bytes", "back_bytes"} | {f"size{i}" for i in range(4)} | \
    {f"stride{i}" for i in range(4)}  # fmt: skip
F32 = {"strength", "number"} | {f"value{i}" for i in range(4)}
F64 = {"multiple", "floor", "tolerance", "unit"}
F64_POINTERS = {"exact", "wobble", "row_scale", "row_error", "sums", "totals", "found", "result", "stats"}
I32_POINTERS = {"broken", "different"}


def type_of(name, types):
    if name in types:
        return "*" + types[name]
    if name in F64_POINTERS:
        return "*fp64"
    if name in I32_POINTERS:
        return "*i32"
    return "i32" if name in I32 else "fp32" if name in F32 else "fp64" if name in F64 else "i64"


def variants():
    """(name, function, types of pointers, constants)"""
    for short, dtype in FLOATS.items():
        for columns in COLUMNS:
            tile = {"ROWS": TILE // columns, "COLUMNS": columns}
            for wobble in (0, 1):
                types = {"eager": dtype, "base": dtype}
                yield f"measure_rows.{short}.{wobble}.{columns}", measure.measure_rows, types, tile | {"HAS_WOBBLE": bool(wobble)}
            for got in dict.fromkeys((short, "f64")):
                types = {"eager": dtype, "got": FLOATS[got]}
                yield f"compare_rows.{short}.{got}.{columns}", measure.compare_rows, types, tile
        yield f"join_compared.{short}", measure.join_compared, {"got": dtype}, {"BLOCK": 1024}
        yield f"statistics.{short}", inputs.statistics, {"x": dtype}, {"BLOCK": 1024}
        yield f"join_statistics.{short}", inputs.join_statistics, {"x": dtype}, {"BLOCK": 1024}
        for kind in KINDS:
            yield f"transform.{kind}.{short}", inputs.transform, {"x": dtype, "out": dtype}, {"KIND": kind, "BLOCK": 1024}
        yield f"plant.{short}", inputs.plant, {"out": dtype}, {}
        for kind in ("plain", "moved") + (("tf32",) if short == "f32" else ()):
            yield f"widen.{kind}.{short}", inputs.widen, {"x": dtype, "out": "fp64"}, {"KIND": kind, "BLOCK": 1024}
    yield "total_rows", measure.total_rows, {}, {"BLOCK": 1024, "SAMPLES": 2048}
    byte = {"front": "i8", "back": "i8"}
    yield "fill_bands", on_bytes.fill_bands, byte, {"BLOCK": 8192}
    yield "check_bands", on_bytes.check_bands, byte, {"BLOCK": 8192}
    for short, dtype in (("i8", "i8"), ("i32", "i32")):
        yield f"count_different.{short}", on_bytes.count_different, {"a": dtype, "b": dtype}, {"BLOCK": 1024}


class Compiler:
    def __init__(self):
        self.backend = make_backend(TARGET)
        self.context = ir.context()
        ir.load_dialects(self.context)
        self.backend.load_dialects(self.context)

    def ttir(self, function, types, constants):
        signature = {name: "constexpr" if name in constants else type_of(name, types) for name in function.arg_names}
        source = ASTSource(function, signature, constants, {})
        options = self.backend.parse_options(dict({}, **source.parse_options()))
        stages = {}
        self.backend.add_stages(stages, options, source.language)
        codegen = self.backend.get_codegen_implementation(options)
        module = source.make_ir(TARGET, options, codegen, self.backend.get_module_map(), self.context)
        return stages["ttir"](module, {}).str_nodebug()


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    compiler = Compiler()
    rows = []
    for name, function, types, constants in variants():
        text = compiler.ttir(function, types, constants)
        assert ")ttir" not in text
        rows.append(f'    {{"{name}", "{function.__name__}", R"ttir({text})ttir"}},\n')
    out = pathlib.Path(sys.argv[1])
    partial = out.with_suffix(".tmp")
    partial.write_text('#include "kernels/table.h"\n\nnamespace tritogen {\n\nconst std::vector<KernelRow>& KernelTable() {\n'
                       "  static const std::vector<KernelRow> table = {\n" + "".join(rows) + "  };\n  return table;\n}\n\n"
                       "}  // namespace tritogen\n")  # fmt: skip
    partial.replace(out)


if __name__ == "__main__":
    main()
