"""convert of functions as libraries have them: constants in their text, calls that the catalogue lacks, writes in place."""

import pytest

FUNCTIONS = {
    "constants": "x[:, torch.tensor([2, 0], device=x.device)] * torch.tensor([0.5, 2.0], device=x.device)",
    "index_add": "torch.zeros(3, 5, device=x.device).index_add(0, torch.arange(4, device=x.device) % 3, x, alpha=2)",
    "scatter_with_reduce": "x.scatter(1, torch.arange(5, device=x.device).expand(4, 5) % 3, 2.0, reduce='multiply')",
    "grid_sample": "F.grid_sample(x[None, None], x.tanh()[None, :, :2, None].expand(1, 4, 2, 2), align_corners=False)",
    "new_memory": "F.pad(x[None, None], (1, 2, 2, 1), mode='circular')",
    "factories": "x[torch.tril_indices(4, 5, -1, device=x.device)[0]] * torch.logspace(0, 1, 5, device=x.device)",
    "a_library_call": "torch.linalg.ldl_factor(x @ x.T)[0].relu() * 2",
    "least_squares": "torch.linalg.lstsq(torch.cat([x[:, :2].tanh(), torch.eye(2, device=x.device)]), x.new_ones(6, 3)).solution.relu()",
    "written_in_place": "(x.mul_(2.0), x[1].zero_(), x + 1)[2]",
    "alone": "x.mul_(x.sigmoid())",
    "places_on_the_cpu": "(y := x.clone(), y.__setitem__((torch.arange(4), [4, 0, 1, 1]), x[:, 0]), y.__setitem__(([0, 2], slice(1, 3)), 5.0))[0]",
    "truths_around": "(F.pad(x[:, 1:] > x[:, :-1], (1, 0), value=True) & ~F.pad(x[:, 1:] > 1, (0, 1))).sum(1)",
    "results_on_the_cpu": "(x.relu(), torch.tensor(0.0), torch.zeros(2), torch.arange(3))",
    "numbers_too_large": "((x * 1000).to(torch.int8), (x * 1000).to(torch.uint8), (x * 1e6).to(torch.int16))",
}
SOURCE = """import torch
import torch.nn.functional as F
def fn(x):
    return {}
def get_inputs():
    return [torch.randn(4, 5)]
"""


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", ["--strict", "--hybrid"])
def test_functions(tritogen, tmp_path, name, mode):
    (tmp_path / "f.py").write_text(SOURCE.format(FUNCTIONS[name]))
    done = tritogen("convert", "f.py", "--function", "fn", mode, "--proposer", "teacher", "--device", "cpu", "-n", "1")
    if name == "a_library_call" and mode == "--strict":
        assert done.returncode == 1 and "nobody knows" in done.stdout and "ldl_factor" in done.stdout
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrote " in done.stdout


def test_what_is_written_in_place_takes_one_kernel(tritogen, tmp_path):
    body = "(x.mul_(0.9).add_(y, alpha=0.1), y.mul_(x))[0]"
    (tmp_path / "f.py").write_text(SOURCE.format(body).replace("fn(x)", "fn(x, y)").replace("(4, 5)]", "(4, 5), torch.randn(4, 5)]"))
    done = tritogen("convert", "f.py", "--function", "fn", "--strict", "--proposer", "teacher", "--device", "cpu", "-n", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "f_triton.py").read_text().rpartition("def _run_kernels(")[2]
    assert text.count("        _launch(") == 1 and "copy_" not in text and "torch.empty" not in text
