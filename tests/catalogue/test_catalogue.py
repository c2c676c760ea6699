"""Every row of the operator catalogue against PyTorch: schema, shapes, dtypes, FLOPs, spelling, input domain.

`catalogue_cases` draws calls from what the rows say may be drawn and states what the rows' rules say of them.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
from collections import defaultdict

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = os.environ.get("CATALOGUE_CASES", str(ROOT / "build/release/catalogue_cases"))
COUNT = int(os.environ.get("CATALOGUE_COUNT", "12"))

# Written in Python by PyTorch itself: no operator of ATen, so only the spelling can be called.
NOT_ATEN = {"softsign"}
RANDOM = {"randn", "rand", "rand_like", "randn_like", "empty.memory_format", "empty_like", "native_dropout"}


def _cases() -> dict[str, list[dict]]:
    done = subprocess.run([CASES, str(COUNT), "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    by_signature = defaultdict(list)
    for line in done.stdout.splitlines():
        case = json.loads(line)
        by_signature[case["signature"]].append(case)
    return by_signature


ALL = _cases()


def _overload(signature: str):
    base, _, overload = signature.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _make(given: dict) -> torch.Tensor:
    """A tensor of the input's domain."""
    dtype, sizes = getattr(torch, given["dtype"]), given["sizes"]
    if "below" in given:
        return torch.randint(0, given["below"], sizes, dtype=dtype)
    if dtype == torch.bool:
        return torch.rand(sizes) < 0.5
    low, high = given.get("low"), given.get("high")
    if low is not None and high is not None:
        values = low + (high - low) * torch.rand(sizes)
    elif low is not None:
        values = low + 3 * torch.rand(sizes)
    else:
        values = 2 * torch.randn(sizes)
    if given["nonzero"]:
        values = torch.where(values.abs() < 0.2, 0.7, values)
    if not dtype.is_floating_point:
        values = values.ceil() if low is not None else values.round()
        if given["nonzero"]:
            values = torch.where(values == 0, 2, values)
    return values.to(dtype)


def _value(arg, tensors):
    if isinstance(arg, dict):
        return tensors[arg["t"]] if "t" in arg else getattr(torch, arg["dtype"])
    return [_value(a, tensors) for a in arg] if isinstance(arg, list) else arg


def _leaves(result) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [leaf for item in result for leaf in _leaves(item)]


def _shape(tensor: torch.Tensor) -> list:
    return [str(tensor.dtype)[6:], list(tensor.shape)]


def _program(text: str):
    scope: dict = {}
    exec(compile(text, "program", "exec"), scope)
    return scope["program"]


def _normal(schema: str) -> str:
    """Alias marks, symbolic integers and spellings of numbers aside."""
    schema = re.sub(r"\([a-z]!?( -> [*a-z])?\)", "", schema.removeprefix("aten::").replace("SymInt", "int"))
    schema = schema.replace("Tensor(*)", "Tensor").replace('"', "'")
    return re.sub(r"\d+\.\d*(e-\d+)?|\de-\d+", lambda number: repr(float(number[0])), schema)


@pytest.mark.parametrize("signature", list(ALL))
def test_schema_is_atens(signature: str) -> None:
    case = ALL[signature][0]
    assert "problem" not in case, case.get("problem")
    if signature in NOT_ATEN:
        assert case["torch"]
    else:
        assert _normal(case["schema"]) == _normal(str(_overload(signature)._schema))


@pytest.mark.parametrize("signature", list(ALL))
def test_rules_are_pytorchs(signature: str) -> None:
    for number, case in enumerate(ALL[signature]):
        torch.manual_seed(number)
        inputs = [_make(given) for given in case["inputs"]]
        where = case["program"]
        call = case["call"]
        assert call["op"] == "aten::" + signature, where

        copies = [t.clone() for t in inputs]  # batch norm in training writes its statistics
        got = _leaves(_program(case["program"])(*copies))
        stated = case["results"]
        assert [_shape(t) for t in got[: len(stated)]] == stated, where
        for tensor in got:
            if tensor.is_floating_point() and signature not in RANDOM:
                assert not tensor.isnan().any(), where

        if signature not in NOT_ATEN:
            copies = [t.clone() for t in inputs]
            args = [_value(arg, copies) for arg in call["args"]]
            kwargs = {name: _value(arg, copies) for name, arg in call["kwargs"].items()}
            want = _leaves(_overload(signature)(*args, **kwargs))
            assert [_shape(t) for t in want[: len(stated)]] == stated, where
            if signature not in RANDOM:
                for a, b in zip(got, want):
                    torch.testing.assert_close(a, b, equal_nan=True, msg=lambda text: f"{text}\n{where}")


@pytest.mark.parametrize("signature", list(ALL))
def test_text_reads_back(signature: str) -> None:
    for case in ALL[signature]:
        assert case["round_trip"] is True, f"{case['round_trip']}\n{case['program']}"


def test_rows_with_a_spelling_are_written_so() -> None:
    """Overloads for numbers that the one for tensors answers for, and dimensions counted from the end, are not."""
    spelled, wished = set(), set()
    for case in (case for cases in ALL.values() for case in cases):
        if case["torch"]:
            wished.add(case["row"])
        if "torch.ops.aten" not in case["program"]:
            spelled.add(case["row"])
    assert not wished - spelled


@pytest.mark.parametrize("signature", list(ALL))
def test_work(signature: str) -> None:
    """FLOPs where PyTorch's counter has a formula (products, convolutions, attention); elsewhere at least one for each
    element that the class computes on. Bytes: every tensor once, none for views."""
    for case in ALL[signature]:
        inputs = [_make(given) for given in case["inputs"]]
        with FlopCounterMode(display=False) as counter:
            results = _leaves(_program(case["program"])(*inputs))
        counted = counter.get_total_flops()
        if counted and "attention" in signature:
            assert 1 < case["flops"] / counted < 8, case["program"]  # the softmax is counted, too
        elif counted:
            assert case["flops"] == counted, case["program"]
        else:
            elements = {"pointwise": sum(t.numel() for t in results), "reductions": inputs[0].numel() if inputs else 0,
                        "norms": inputs[0].numel() if inputs else 0, "products": 1}.get(case["class"], 0)  # fmt: skip
            assert case["flops"] >= elements or case["row"] == "_to_copy", case["program"]
            assert not case["flops"] or case["class"] not in ("layouts", "creators"), case["program"]
        if case["bytes"]:
            moved = [*inputs, *results[: len(case["results"])]]
            assert case["bytes"] == sum(t.numel() * t.element_size() for t in moved), case["program"]
        else:  # a view moves nothing: its results lie in its operand
            storages = {t.untyped_storage().data_ptr() for t in inputs}
            assert all(t.untyped_storage().data_ptr() in storages for t in results), case["program"]


def test_the_lists_of_the_papers_are_there() -> None:
    """DRTriton's creators and its 61 compute operators, by the names of their rows."""
    rows = {case["row"] for cases in ALL.values() for case in cases}
    wanted = """randn ones zeros
        add sub mul div maximum minimum lerp
        sum mean max min argmax argmin var.correction linalg_vector_norm
        matmul bmm transpose triu tril
        relu leaky_relu sigmoid tanh silu gelu selu hardsigmoid softplus softsign elu hardtanh clamp log_sigmoid
        softmax log_softmax cos sin exp2 abs cumsum cummax cummin
        batch_norm layer_norm group_norm instance_norm
        avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d
        conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cat stack
        linear embedding scaled_dot_product_attention rms_norm cross_entropy_loss mse_loss kl_div huber_loss
        cosine_similarity where eq ne lt le gt ge pow sqrt rsqrt exp log erf reciprocal sign floor round slice permute
        reshape flip roll gather index_select masked_fill topk sort logsumexp cumprod std.correction prod any all
        upsample_nearest2d upsample_bilinear2d pixel_shuffle constant_pad_nd"""
    assert not set(wanted.split()) - rows
