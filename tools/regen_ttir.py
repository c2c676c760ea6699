#!/usr/bin/env python3
"""Compiles the sample kernels (tests/kernels) to TTIR for sm_90 and writes them to tests/golden/ttir. Needs no GPU.

    tools/regen_ttir.py            writes NAME.ttir and NAME.loc.ttir (with locations) for every case
    tools/regen_ttir.py --check    writes nothing; fails when the folder is out of date

Paths in locations are made relative, so that the files are the same on every machine.
"""
import argparse
import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import triton  # noqa: E402
from triton._C.libtriton import ir  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.compiler.compiler import make_backend  # noqa: E402

from tests.kernels import CASES  # noqa: E402
from tests.kernels.cases import Descriptor, Tensor  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "ttir"
TARGET = GPUTarget("cuda", 90, 32)


def type_of(value, name, scalar_types):
    if isinstance(value, Tensor):
        return f"*{value.dtype}"
    if isinstance(value, Descriptor):
        return f"tensordesc<{value.tensor.dtype}{list(value.block)}>"
    if isinstance(value, tuple):
        return tuple(type_of(item, name, {}) for item in value)
    return scalar_types.get(name, "fp32" if isinstance(value, float) else "i32")


def source_of(case):
    signature, constants, attributes = {}, dict(case.constants), {}
    for index, name in enumerate(case.kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        value = case.arguments[name]
        signature[name] = type_of(value, name, case.scalar_types)
        if isinstance(value, Tensor) or (isinstance(value, int) and value % 16 == 0 and value != 0):
            attributes[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(case.kernel, signature, constants, attributes)


def compile_case(case):
    """TTIR without and with locations."""
    source = source_of(case)
    backend = make_backend(TARGET)
    options = backend.parse_options(dict(case.options, **source.parse_options()))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    stages = {}
    backend.add_stages(stages, options, source.language)
    module = stages["ttir"](module, {})
    located = str(module)
    for base, shown in ((ROOT, ""), (pathlib.Path(triton.__file__).parent.parent, "")):
        located = located.replace(f"{base}/", shown)
    return module.str_nodebug(), located


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    wanted = {}
    for case in CASES.values():
        try:
            wanted[f"{case.name}.ttir"], wanted[f"{case.name}.loc.ttir"] = compile_case(case)
        except Exception as error:
            raise SystemExit(f"{case.name}: {type(error).__name__}: {error}") from error
    GOLDEN.mkdir(parents=True, exist_ok=True)
    present = {path.name: path.read_text() for path in GOLDEN.glob("*.ttir")}
    if check:
        for name in sorted(set(wanted) | set(present)):
            sys.stdout.writelines(difflib.unified_diff(present.get(name, "").splitlines(True), wanted.get(name, "").splitlines(True),
                                                       f"golden/{name}", f"compiled/{name}", n=1))
        raise SystemExit(0 if wanted == present else 1)
    for name in set(present) - set(wanted):
        (GOLDEN / name).unlink()
    for name, text in wanted.items():
        (GOLDEN / name).write_text(text)
    print(f"{len(wanted)} files, {sum(map(len, wanted.values()))} bytes in {GOLDEN.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
