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
from kernels import attention, compare, decoder, inputs, linear, measure, most, packed_attention, sampling, training  # noqa: E402

TARGET = GPUTarget("cuda", 80, 32)
FLOATS = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16"}
TILES = {16: (32, 4, 4), 64: (16, 8, 8), 256: (4, 8, 32), 1024: (1, 8, 128)}  # by columns: rows, steps and lanes of kernels/measure.py
COLUMN_TILES = {32: 16, 128: 4}  # of measure_columns: columns and rows
TILE = 1024  # at most
MOST = {"BLOCK": 1024}  # SampledPlaces::kMost
KINDS = ("spread", "flipped", "shifted", "spikes", "large", "scaled", "binary", "near_one", "swings", "redrawn")
I32 = {"rows", "programs", "samples", "length", "tile_rows", "tile_columns", "front_bytes", "back_bytes", "again"} | {f"size{i}" for i in range(4)} | \
    {f"stride{i}" for i in range(4)}  # fmt: skip
F32 = {"strength", "number"} | {f"value{i}" for i in range(4)}
F64 = {"multiple", "floor", "tolerance", "unit", "share", "gap"}
F64_POINTERS = {"exact", "wobble", "row_scale", "row_error", "column_scale", "column_error", "sums", "totals", "found", "result", "stats"}
F32_POINTERS = {"column_allowed"}
I64_POINTERS = {"matters"}
I32_POINTERS = {"broken", "different"}


def type_of(name, types):
    if name in types:
        return "*" + types[name]
    if name in F64_POINTERS:
        return "*fp64"
    if name in F32_POINTERS:
        return "*fp32"
    if name in I64_POINTERS:
        return "*i64"
    if name in I32_POINTERS:
        return "*i32"
    return "i32" if name in I32 else "fp32" if name in F32 else "fp64" if name in F64 else "i64"


def verifier_variants():
    """(name, function, types of pointers, constants)"""
    for short, dtype in FLOATS.items():
        for columns, (rows, steps, lanes) in TILES.items():
            tile = {"ROWS": rows, "STEPS": steps, "LANES": lanes}
            for wobble in (0, 1):
                types = {"eager": dtype, "base": dtype}
                yield f"measure_rows.{short}.{wobble}.{columns}", measure.measure_rows, types, tile | {"HAS_WOBBLE": bool(wobble)}
            for got in dict.fromkeys((short, "f64")):
                types = {"eager": dtype, "got": FLOATS[got]}
                yield f"compare_rows.{short}.{got}.{columns}", compare.compare_rows, types, tile
        for wobble in (0, 1):
            types = {"eager": dtype, "column_scale": "i64", "column_error": "i64"}
            for columns, rows in COLUMN_TILES.items():
                tile = {"HAS_WOBBLE": bool(wobble), "ROWS": rows, "COLUMNS": columns}
                yield f"measure_columns.{short}.{wobble}.{columns}", measure.measure_columns, types, tile
        for got in dict.fromkeys((short, "f64")):
            types = {"eager": dtype, "got": FLOATS[got]}
            yield f"join_compared.{short}.{got}", compare.join_compared, types, {"BLOCK": 1024, "TILE": TILE}
            yield f"compare_most.{short}.{got}", most.compare_most, types, MOST
        for wobble in (0, 1):
            yield f"measure_most.{short}.{wobble}", most.measure_most, {"eager": dtype}, MOST | {"HAS_WOBBLE": bool(wobble)}
        yield f"statistics.{short}", inputs.statistics, {"x": dtype}, {"BLOCK": 1024}
        yield f"join_statistics.{short}", inputs.join_statistics, {"x": dtype}, {"BLOCK": 1024}
        for kind in KINDS:
            yield f"transform.{kind}.{short}", inputs.transform, {"x": dtype, "out": dtype}, {"KIND": kind, "BLOCK": 1024}
        yield f"plant.{short}", inputs.plant, {"out": dtype}, {}
        for kind in ("plain", "moved") + (("tf32",) if short == "f32" else ()):
            yield f"widen.{kind}.{short}", inputs.widen, {"x": dtype, "out": "fp64"}, {"KIND": kind, "BLOCK": 1024}
    yield "find_rest", measure.find_rest, {"rest": "i64"}, {"BLOCK": 4096}
    yield "choose_fill", measure.choose_fill, {}, {}
    yield "allow_columns", measure.allow_columns, {}, {"BLOCK": 1024}
    yield "total_rows", measure.total_rows, {}, {"BLOCK": 1024, "SAMPLES": 2048}
    byte = {"front": "i8", "back": "i8"}
    yield "fill_bands", on_bytes.fill_bands, byte, {"BLOCK": 8192}
    yield "check_bands", on_bytes.check_bands, {f"buffer{i}": "i32" for i in range(16)}, {"WORDS": 1024, "GRANULE": 128}
    for short, dtype in (("i8", "i8"), ("i32", "i32")):
        yield f"count_different.{short}", on_bytes.count_different, {"a": dtype, "b": dtype}, {"BLOCK": 1024}


def options(num_warps=4, num_stages=3, launch_pdl=False, multiples=None):
    """`multiples`: what integers of a decoder's kernel are multiples of (MULTIPLES)."""
    return {"num_warps": num_warps, "num_stages": num_stages, "launch_pdl": launch_pdl, "multiples": multiples or MULTIPLES}


INT_POINTERS = ("tables", "table_rows", "tiles", "items", "members", "shares", "positions", "tokens", "last", "slots", "seen", "whole", "places")
FLOAT_POINTERS = ("rope", "partial", "numbers", "cuts", "found", "logprobs", "squares")
FLOAT_SCALARS = ("eps", "scale_log2")
WIDTHS = (512, 1024, 2048, 4096, 8192)  # of a model; a row is one tile
HEADS = (32, 64, 128, 256)  # elements of a head; with others (multiples of 16) they are padded to one of these
ANY_HEADS = (128, 256)  # tiles of heads with any other even number of elements
ANY_WIDTH = 2048  # elements of a row at once where it may have any number
BLOCK = 64  # tokens of a block of the cache
SHARED_ROWS = 64  # queries of a program of paged_shared
MULTIPLES = {"n": 16, "k": 16, "head_dim": 16}
ANY_MULTIPLES = {"head_dim": 2}  # of kernels for rows, matrices and heads of any size


def decoder_types(function, constants, dtype, others={}):
    """Pointers are to `dtype` but for the names above; what is no pointer is i32."""
    pointers = {"qkv", "q_norm", "k_norm", "keys", "values", "queries", "out", "x", "delta", "weight", "gate_up", "table", "bias",
                "residual", "logits", "norm", "scaled"}  # fmt: skip
    types = {}
    for name in function.arg_names:
        if name in constants:
            continue
        types[name] = ("*i32" if name in INT_POINTERS else "*fp32" if name in FLOAT_POINTERS else "fp32" if name in FLOAT_SCALARS
                       else "*" + dtype if name in pointers else "i32")  # fmt: skip
    return types | others


def linear_variants(variant, short, dtype):
    """Products by what they are for; tiles as measured on an H200 for 256 and 512 rows."""
    def linear_variant(name, bias, pdl, epilogue, scale, bm, bn, bk, stages, even=True, multiples=None):
        constants = {"SCALE": scale, "EPILOGUE": epilogue, "BIAS": bool(bias), "BM": bm, "BN": bn, "BK": bk, "EVEN": even,
                     "PRECISION": "ieee" if short == "f32" else "tf32", "PDL": bool(pdl)}  # fmt: skip
        return variant(f"linear.{short}.{name}.{bias}{pdl}", linear.linear, constants, dtype, num_stages=stages,
                       launch_pdl=bool(pdl), multiples=multiples)  # fmt: skip

    for bias in (0, 1):
        yield linear_variant("plain", bias, 0, "none", False, 64, 64, 64, 3, even=False)
        yield linear_variant("any", bias, 0, "none", False, 64, 64, 64, 3, even=False, multiples=ANY_MULTIPLES)
        if short == "f32":
            continue
        for pdl in (0, 1):
            yield linear_variant("qkv", bias, pdl, "none", True, 64, 64, 64, 4)
            yield linear_variant("add", bias, pdl, "add", False, 64, 32, 128, 4)
            if not bias:
                yield linear_variant("swiglu", bias, pdl, "swiglu", True, 128, 64, 64, 3)


def attention_variants(variant, short, dtype, precision, d, head, padded=False, multiples=None):
    """`padded`: heads have fewer elements than the tile; ANY_MULTIPLES: and any even number of them."""
    is_any = multiples == ANY_MULTIPLES
    cache = {"D": d, "PADDED": padded or is_any, "BLOCK": BLOCK}
    wide = d > 128 or short == "f32"
    stages = 2 if wide else 3
    for norm in (0, 1):
        constants = cache | {"NORM": bool(norm), "TILE": 32}
        yield variant(f"rope_to_cache.{head}.{norm}", attention.rope_to_cache, constants, dtype, multiples=multiples)
    for fresh, norm in ((0, 0),) if is_any else ((0, 0), (1, 0), (1, 1)):
        for split, pdl in ((0, 0), (1, 0), (0, 1)) if fresh and not padded else ((0, 0), (1, 0)):
            choice = {"FRESH": bool(fresh), "NORM": bool(norm), "SPLIT": bool(split), "SHARED": 0, "GROUP": 16, "PDL": bool(pdl)}
            yield variant(f"paged_decode.{head}.{fresh}{norm}{split}{pdl}", attention.paged_decode, cache | precision | choice, dtype,
                          num_warps=4 if wide else 2 if d > 64 else 1, num_stages=stages, launch_pdl=bool(pdl),
                          multiples=multiples)  # fmt: skip
        if fresh:
            yield variant(f"paged_decode.{head}.1{norm}.shared", attention.paged_decode,
                          cache | precision | choice | {"SPLIT": False, "SHARED": SHARED_ROWS, "PDL": True},
                          dtype, num_warps=4 if wide else 2 if d > 64 else 1, num_stages=stages, launch_pdl=True)  # fmt: skip
            yield variant(f"paged_shared.{head}.{norm}", attention.paged_shared,
                          cache | precision | {"NORM": bool(norm), "ROWS": SHARED_ROWS, "PDL": True}, dtype,
                          num_warps=8 if wide else 4, num_stages=stages, launch_pdl=True)  # fmt: skip
    join = {"D": d, "PADDED": padded or is_any}
    yield variant(f"join_splits.{head}", attention.join_splits, join, dtype, num_warps=1, multiples=multiples)
    yield variant(f"paged_prefill.{head}", attention.paged_prefill, cache | precision | {"ROWS": 64 if wide else 128}, dtype,
                  num_warps=4 if d <= 64 and not wide else 8, num_stages=stages, multiples=multiples)  # fmt: skip


def any_width_variants(variant, short, dtype, precision):
    """For rows whose length is no multiple of 16 or more than the longest of WIDTHS, and heads whose size is no multiple of 16. The latter
    take two steps, first into the cache, so that there are few of them."""
    piece = {"BLOCK": ANY_WIDTH}
    yield variant(f"embed.{short}.0.any", decoder.embed_any, piece, dtype, multiples=ANY_MULTIPLES)
    for add in (0, 1):
        yield variant(f"rms_norm.{short}.{add}.any", decoder.rms_norm_any, piece | {"ADD": bool(add)}, dtype, multiples=ANY_MULTIPLES)
    yield variant(f"swiglu.{short}.any", decoder.swiglu, {"BLOCK": 1024}, dtype, multiples=ANY_MULTIPLES)
    for d in ANY_HEADS:
        yield from attention_variants(variant, short, dtype, precision, d, f"{short}.{d}any", multiples=ANY_MULTIPLES)


def sampling_variants(variant, short, dtype):
    """ "aligned": of vocabularies that are multiples of 16, whose logits are read 16 bytes at once; "wide": of more than 128 chunks."""
    for form, vocabulary in (("", 1), ("aligned.", 16)):
        multiples = MULTIPLES | {"vocabulary": vocabulary}
        for cut in (False, True):
            name = f"{form}{short}.{cut:d}"
            yield variant(f"sample_chunks.{name}", sampling.sample_chunks, {"CUT": cut}, dtype, multiples=multiples)
            yield variant(f"pick_tokens.{name}", sampling.pick_tokens, {"CUT": cut, "CHUNKS": 128}, dtype, multiples=multiples)
        yield variant(f"cut_logits.{form}{short}", sampling.cut_logits, {"BLOCK": 2048}, dtype, num_warps=8, multiples=multiples)
    for cut in (False, True):
        yield variant(f"pick_tokens.wide.{short}.{cut:d}", sampling.pick_tokens, {"CUT": cut, "CHUNKS": 1024}, dtype)


def decoder_variants():
    """(name, function, types, constants, options): a decoder's forward pass and sampling. Pointers are multiples of 16."""
    def variant(name, function, constants, dtype="fp32", others={}, **choices):
        return name, function, decoder_types(function, constants, dtype, others), constants, options(**choices)

    for short, dtype in (("f32", "fp32"), ("f16", "fp16"), ("bf16", "bf16")):
        precision = {"PRECISION": "ieee" if short == "f32" else "tf32"}
        for width in WIDTHS:
            row = {"BLOCK": width}
            warps = {"num_warps": 8 if width > 2048 else 4}
            for scaled in (0, 1):
                yield variant(f"embed.{short}.{scaled}.{width}", decoder.embed, row | {"SCALED": bool(scaled)}, dtype, **warps)
            for add in (0, 1):
                yield variant(f"rms_norm.{short}.{add}.{width}", decoder.rms_norm, row | {"ADD": bool(add)}, dtype, **warps)
        yield variant(f"swiglu.{short}", decoder.swiglu, {"BLOCK": 1024}, dtype)
        yield from any_width_variants(variant, short, dtype, precision)
        yield from linear_variants(variant, short, dtype)
        for d in HEADS:
            yield from attention_variants(variant, short, dtype, precision, d, f"{short}.{d}")
            yield from attention_variants(variant, short, dtype, precision, d, f"{short}.{d}p", padded=True)
        yield from sampling_variants(variant, short, dtype)
        yield variant(f"top_logits.{short}", sampling.top_logits, {"COUNT": 20, "BLOCK": 2048}, dtype, num_warps=8)
    yield variant("mark_seen", sampling.mark_seen, {"BLOCK": 256})


TRAINED = {  # what training's arguments point to, besides the weights' dtype; and numbers that are no i32
    "*i32": ("positions", "starts", "ends", "targets", "ids", "tile_order", "by_keys", "by_queries"),
    "*i64": ("order", "places"),
    "*fp32": ("parts", "gradient", "rope", "lse", "losses", "loss_weights", "squared_norm", "master", "first", "second"),
    "i64": ("count", "decayed"),
    "i32": ("rows", "n", "heads", "kv_heads", "tokens", "stride", "vocabulary", "steps", "tiles"),
    "fp32": ("eps", "scale", "scale_log2", "decay", "step", "one_minus_beta1", "beta2", "one_minus_beta2", "inverse_root", "epsilon",
             "clip"),
}  # fmt: skip


def training_variants():
    """(name, function, types, constants, options): training. Pointers, n, stride and count are multiples of 16."""
    def variant(name, function, constants, dtype="fp32", **choices):
        types = {name: next((type for type, names in TRAINED.items() if name in names), "*" + dtype)
                 for name in function.arg_names if name not in constants}  # fmt: skip
        return name, function, types, constants, options(**choices)

    for short, dtype in (("f32", "fp32"), ("bf16", "bf16")):
        for width in WIDTHS:
            tile = {"ROWS": max(1, 2048 // width), "BLOCK": width}
            warps = {"num_warps": 8 if width > 2048 else 4}
            yield variant(f"add_norm.{short}.{width}", training.add_norm, tile, dtype, **warps)
            yield variant(f"embed_norm.{short}.{width}", training.embed_norm, tile, dtype, **warps)
            for add in (0, 1):
                yield variant(f"norm_backward.{short}.{add}.{width}", training.norm_backward,
                              tile | {"ADD": bool(add), "AHEAD": 3 if width < 4096 else 1}, dtype, **warps)  # fmt: skip
        for d in HEADS[:3]:
            for norm in (0, 1):
                heads = {"NORM": bool(norm), "ROWS": 2048 // d, "D": d}
                yield variant(f"rope_heads.{short}.{d}.{norm}", training.rope_heads, heads, dtype)
                yield variant(f"rope_heads_backward.{short}.{d}.{norm}", training.rope_heads_backward, heads, dtype)
            yield from packed_variants(variant, short, dtype, d)
        yield variant(f"swiglu_backward.{short}", training.swiglu_backward, {"BLOCK": 1024}, dtype)
        for gradient in (0, 1):
            for wide, tile in (("", 2048), (".wide", 32768)):  # few rows at once: the L2 has them all
                yield variant(f"cross_entropy.{short}.{gradient}{wide}", training.cross_entropy,
                              {"GRADIENT": bool(gradient), "BLOCK": tile, "AHEAD": 1, "LAST_USE": ""}, dtype, num_warps=32 if wide else 4)  # fmt: skip
        yield variant(f"embedding_backward.{short}", training.embedding_backward,
                      {"ROWS": 64, "COLUMNS": 128, "PRECISION": "ieee" if short == "f32" else "tf32"}, dtype)  # fmt: skip
        yield variant(f"sum_rows.{short}", training.sum_rows, {"ROWS": 32, "COLUMNS": 128}, dtype)
        yield variant(f"adamw.{short}", training.adamw, {"BLOCK": 1024}, dtype)
    for add in (0, 1):
        yield variant(f"add_parts.{add}", training.add_parts, {"ADD": bool(add), "ROWS": 256, "COLUMNS": 32}, num_warps=8)
    yield variant("document_ends", packed_attention.document_ends, {"BLOCK": 256})
    yield variant("order_tiles", packed_attention.order_tiles, {"BLOCK": 1024})
    yield variant("embedding_ends", training.embedding_ends, {"ROWS": 64, "CHUNKS": 16, "COLUMNS": 128})
    yield variant("sum_squares", training.sum_squares, {"BLOCK": 1024})


def packed_variants(variant, short, dtype, d):
    """Attention of training, tiles as measured on an H200 (heads of 128: an H100) by bench/attention_variants.py.
    src/train/packed_attention.cc has ROWS, too."""
    f32 = short == "f32"
    for name in ("packed_attention", "packed_attention_dq", "packed_attention_dkv"):
        rows, block, stages = (32, 32, 2) if f32 else (64, 64, 3)
        if d > 64 and not f32:  # by what fits the registers
            block, stages = {"packed_attention": (64, 3), "packed_attention_dq": (64, 2), "packed_attention_dkv": (32, 3)}[name]
        constants = {"D": d, "PRECISION": "ieee" if f32 else "tf32", "ROWS": rows, "BLOCK": block}
        yield variant(f"{name}.{short}.{d}", getattr(packed_attention, name), constants, dtype, num_warps=4, num_stages=stages)


class Compiler:
    def __init__(self):
        self.backend = make_backend(TARGET)
        self.context = ir.context()
        ir.load_dialects(self.context)
        self.backend.load_dialects(self.context)

    def ttir(self, function, types, constants, multiples={}):
        """`multiples`: names of arguments that are multiples, and of what."""
        signature = {name: "constexpr" if name in constants else types[name] for name in function.arg_names}
        hints = {(i,): [["tt.divisibility", multiples[name]]] for i, name in enumerate(function.arg_names) if name in multiples}
        source = ASTSource(function, signature, constants, hints)
        options = self.backend.parse_options(dict(source.parse_options()))
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

    def add(family, name, function, types, constants, choices, multiples):
        text = compiler.ttir(function, types, constants, multiples)
        assert ")ttir" not in text
        rows.append(f'    {{KernelFamily::{family}, "{name}", "{function.__name__}", {choices["num_warps"]}, {choices["num_stages"]}, '
                    f'{str(choices["launch_pdl"]).lower()},\n'
                    f'     R"ttir({text})ttir"}},\n')  # fmt: skip

    for name, function, pointers, constants in verifier_variants():
        types = {name: type_of(name, pointers) for name in function.arg_names if name not in constants}
        add("kVerifier", name, function, types, constants, options(), {name: 16 for name in types if name.startswith("buffer")})
    for name, function, types, constants, choices in decoder_variants():
        multiples = choices["multiples"] | {name: 16 for name, type in types.items() if type.startswith("*")}
        add("kDecoder", name, function, types, constants, choices, multiples)
    for name, function, types, constants, choices in training_variants():
        multiples = {name: 16 for name, type in types.items() if type.startswith("*") or name in ("n", "stride", "count")}
        add("kTraining", name, function, types, constants, choices, multiples)
    out = pathlib.Path(sys.argv[1])
    partial = out.with_suffix(".tmp")
    partial.write_text('#include "kernels/table.h"\n\nnamespace tritogen {\n\nconst std::vector<KernelRow>& KernelTable() {\n'
                       "  static const std::vector<KernelRow> table = {\n" + "".join(rows) + "  };\n  return table;\n}\n\n"
                       "}  // namespace tritogen\n")  # fmt: skip
    partial.replace(out)


if __name__ == "__main__":
    main()
