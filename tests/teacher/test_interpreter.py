"""The interpreter of these tests against Triton's own, which runs in a process without the patches, and against NumPy."""
import functools
import subprocess
import sys

import numpy as np
import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter as tritons
from triton.runtime.interpreter import ReduceOps, ScanOps, TensorHandle

import interpreter
import oracle
import sample_kernels


def test_sample_kernels(tmp_path):
    subprocess.run([sys.executable, sample_kernels.__file__, tmp_path / "plain"], check=True, stdout=subprocess.DEVNULL)
    want, got = torch.load(tmp_path / "plain"), sample_kernels.run()
    assert len(want) > 80
    for name in want:
        for output, expected in want[name].items():
            order = 3e-7 if expected.is_floating_point() else 0  # of the terms of a sum
            assert oracle.worst_error(got[name][output], expected) <= order, (name, output)


@pytest.fixture
def in_a_kernel():
    scope = tritons._patch_lang(None)
    yield
    scope.restore()


class Affine:
    """Of functions a x + b, one after the other: not the same the other way around."""

    @staticmethod
    def fn(a, b, c, d):
        return a * c, b * c + d


def tensor(array):
    return tl.tensor(TensorHandle(array, tl.int32), tl.block_type(tl.int32, list(array.shape)))


FACTORS, OFFSETS = np.random.default_rng(0).integers(-3, 4, (2, 4, 8, 2)).astype(np.int32)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_reductions_keep_the_order(axis, keep_dims, in_a_kernel):
    got = ReduceOps(axis, Affine, keep_dims).apply((tensor(FACTORS), tensor(OFFSETS)))
    lines = [np.moveaxis(array, axis, -1) if axis is not None else array.reshape(-1) for array in (FACTORS, OFFSETS)]
    want = functools.reduce(lambda left, right: Affine.fn(*left, *right), zip(*(np.moveaxis(line, -1, 0) for line in lines)))
    for g, w in zip(got, want):
        shape = (1, 1, 1) if axis is None else FACTORS.sum(axis, keepdims=True).shape
        w = w.reshape(shape if keep_dims else np.shape(w) or (1,))  # one element is an array of one here
        assert g.handle.data.shape == w.shape and np.array_equal(g.handle.data, w)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scans_keep_the_order(axis, reverse, in_a_kernel):
    got = ScanOps(axis, Affine, reverse).apply((tensor(FACTORS), tensor(OFFSETS)))
    turned = [np.flip(array, axis) if reverse else array for array in (FACTORS, OFFSETS)]
    a, b = (np.moveaxis(array, axis, 0).copy() for array in turned)
    for i in range(1, len(a)):
        a[i], b[i] = Affine.fn(a[i - 1], b[i - 1], a[i], b[i])
    for g, w in zip(got, (a, b)):
        w = np.moveaxis(w, 0, axis)
        assert np.array_equal(g.handle.data, np.flip(w, axis) if reverse else w)


def test_bfloat16_is_rounded_as_pytorch_does():
    bits = np.arange(1 << 16, dtype=np.uint32) << 16
    bits = np.concatenate([bits, bits | 0x7FFF, bits | 0x8000, bits | 0x8001, bits | 0xFFFF])
    numbers = bits.view(np.float32)
    want = torch.from_numpy(numbers).bfloat16().float().numpy()
    got = interpreter.from_bfloat16(interpreter.to_bfloat16(numbers))
    assert np.array_equal(got, want, equal_nan=True)
    assert np.array_equal(got.view(np.uint32)[~np.isnan(got)], want.view(np.uint32)[~np.isnan(want)])  # zeros of both signs


def test_blocks_are_checked_as_before():
    for _ in range(2):
        with pytest.raises(ValueError, match="power of 2"):
            tl.block_type(tl.float32, [3, 4])
    block = tensor(FACTORS)
    assert [s.value for s in block.shape] == [4, 8, 2] and block.numel.value == 64 and block.dtype == tl.int32
    assert block.type == tl.block_type(tl.int32, [4, 8, 2]) != tl.block_type(tl.float32, [4, 8, 2])


def test_the_language_is_replaced_within_kernels_alone():
    oracle.check(oracle.file_of("(5,70)", "torch.softmax(x, 1)"), "f", is_function=True, strict=True, count=1)
    with pytest.raises(ValueError, match="triton.jit"):
        tl.arange(0, 8)
