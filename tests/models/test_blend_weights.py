"""tools/blend_weights.py: between two folders, in their dtype; folders that do not match are refused and nothing is written."""

import pathlib
import subprocess
import sys

import torch
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder(path: pathlib.Path, **tensors: torch.Tensor) -> pathlib.Path:
    path.mkdir()
    (path / "config.json").write_text("{}")
    save_file(tensors, path / "model.safetensors")
    return path


def blend(*args) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "tools/blend_weights.py", *map(str, args)], capture_output=True, text=True)


def test_blends_in_the_dtype_of_the_first(tmp_path):
    a = folder(tmp_path / "a", w=torch.full((2, 3), 4.0, dtype=torch.bfloat16))
    b = folder(tmp_path / "b", w=torch.zeros(2, 3, dtype=torch.bfloat16))
    finished = blend(a, b, "--share", 0.75, "--out", tmp_path / "out")
    assert finished.returncode == 0, finished.stderr
    got = load_file(tmp_path / "out/model.safetensors")["w"]
    assert got.dtype == torch.bfloat16 and torch.equal(got, torch.full((2, 3), 3.0, dtype=torch.bfloat16))
    assert (tmp_path / "out/config.json").exists()


def test_folders_of_other_shapes_are_refused(tmp_path):
    a, b = folder(tmp_path / "a", w=torch.ones(2)), folder(tmp_path / "b", w=torch.ones(3))
    finished = blend(a, b, "--share", 0.5, "--out", tmp_path / "out")
    assert finished.returncode != 0 and "do not have the same tensors" in finished.stderr
    assert not (tmp_path / "out").exists()
