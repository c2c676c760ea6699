"""bench/draw_networks.py: what it draws runs, and is the same for the same seed; its blocks are whole."""

import importlib.util
import pathlib
import random
import sys

import pytest
import torch

from .. import warm_python

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def networks():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        spec = importlib.util.spec_from_file_location("draw_networks", ROOT / "bench/draw_networks.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "bench"))
    return module


def drawn(folder, *arguments):
    exit_code, said = warm_python.run_file(ROOT / "bench/draw_networks.py", folder, *arguments)
    assert exit_code == 0, said
    return {file.name: file.read_text() for file in sorted(folder.glob("*.py"))}


def run(text):
    names = {"__name__": "task"}
    exec(text, names)
    return names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())


def test_networks_run_and_hang_on_the_seed_alone(tmp_path):
    made = drawn(tmp_path / "a", "--count", 6, "--seed", 3, "--small")
    assert len(made) == 6
    for text in made.values():
        results = run(text)
        assert all(torch.is_tensor(result) for result in (results if isinstance(results, tuple) else (results,)))
    assert made == drawn(tmp_path / "b", "--count", 6, "--seed", 3, "--small")
    assert made != drawn(tmp_path / "c", "--count", 6, "--seed", 4, "--small")


def test_real_sizes_are_larger(tmp_path):
    def shapes(text):
        names = {"__name__": "task"}
        exec(text, names)
        with torch.device("meta"):
            return sum(x.numel() for x in names["get_inputs"]()) + sum(x.numel() for x in names["Model"]().parameters())

    small = [shapes(text) for text in drawn(tmp_path / "small", "--count", 3, "--seed", 5, "--small").values()]
    real = [shapes(text) for text in drawn(tmp_path / "real", "--count", 3, "--seed", 5).values()]
    assert min(real) > max(small)


def test_each_block_runs_at_some_size(networks):
    for kind, blocks in networks.BLOCKS.items():
        for name in blocks:
            draw = random.Random(name)
            tries = (networks.grown(networks.Network(draw, True, kind.split("_to_")[0]), kind, name) for _ in range(20))
            assert any(tries), f"{kind}: {name}"


def test_statements_of_blocks(networks):
    lines = networks.statements("a = 1; for b in a:;> c = b\n  > d = c;return d")
    assert lines == ["a = 1", "for b in a:", "    c = b", "    d = c", "return d"]
