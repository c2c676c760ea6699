"""Operators that a request names in `split` are recorded as what they are made of."""

from __future__ import annotations

import pytest
import torch

import decompositions
from programs import eager, ops, plan_of, reference, replayed

aten = torch.ops.aten
_X = torch.linspace(-2.0, 3.0, 24).sin().reshape(4, 6)
_Y = torch.linspace(1.0, 2.0, 24).cos().reshape(4, 6)
_POINTS = torch.linspace(-1, 2, 30).sin().reshape(2, 5, 3)
_OTHERS = torch.linspace(-2, 1, 24).cos().reshape(2, 4, 3)
_INDEX = torch.tensor([0, 3, 3, 1])
_LINES = torch.tensor([[0, 3, 1, 1, 5, 2], [2, 2, 2, 0, 0, 4], [5, 4, 3, 2, 1, 0], [1, 1, 1, 1, 1, 1]])
_LONG = torch.linspace(0, 50, 4 * 90).sin().reshape(4, 90)
_LABELLED = torch.tensor([[0, 3, -1, 1, 5, 2], [2, 5, 1, 0, 3, 4], [-1, 4, 3, 2, 1, 0], [4, -1, -1, -1, -1, -1]])
_NAN = torch.where(_X > 0.9, torch.nan, _X)
_VOLUME = torch.linspace(-3, 3, 2 * 2 * 3 * 4 * 5).sin().reshape(2, 2, 3, 4, 5)
_GRID = (torch.linspace(0, 40, 2 * 2 * 3 * 2 * 3).sin() * 1.4).reshape(2, 2, 3, 2, 3)
_LOG_PROBS = torch.linspace(-2, 9, 5 * 2 * 4).sin().reshape(5, 2, 4).log_softmax(-1)
_LABELS = torch.tensor([[1, 3, 3], [3, 1, 3]])
_MATRICES = [torch.linspace(0, 9, 2 * 4 * 4).square().sin().reshape(2, 4, 4), torch.tensor([[0.0, 2.0], [3.0, 0.0]])]

CASES = [
    *[(aten._cdist_forward.default, (_POINTS, _OTHERS, p, None)) for p in (0.0, 1.0, 2.0, 3.0, torch.inf)],
    *[(aten._pdist_forward.default, (_X, p)) for p in (1.0, 2.0)],
    (aten._trilinear.default, (_X, torch.ones(3, 6, 6) + _X.mean(), _Y, [1, 3], [0], [1, 2], [2, 3])),
    (aten._trilinear.default, (_X, _Y, _X + _Y, [], [], [], [1])),
    (aten.addbmm.default, (torch.ones(5, 4), _POINTS, _OTHERS.transpose(1, 2)), {"beta": 0.5, "alpha": 2.0}),
    (aten.linalg_cross.default, (_POINTS[:, :4], _OTHERS)),
    (aten.block_diag.default, ([_X, _Y[0], _Y],)),
    (aten.hypot.default, (_X * 1e30, _Y * 1e30)),
    (aten.hypot.default, (torch.tensor([0.0, -torch.inf, 3.0]), torch.tensor([0.0, 1.0, -4.0]))),
    (aten.fmax.default, (_NAN, _Y)),
    (aten.fmin.default, (_NAN, _Y)),
    (aten.signbit.default, (torch.tensor([-1.0, -0.0, 0.0, 2.0, -torch.inf]),)),
    *[(aten.copysign.Tensor, (x, y)) for x in (_LINES, _X) for y in (_X, _LINES - 2, torch.tensor(-1))],
    (aten.signbit.default, (torch.tensor([-1, 0, 1]),)),
    (aten.rrelu_with_noise.default, (_X, torch.empty_like(_X))),
    (aten.histc.default, (_X, 5, -0.8, 0.9)),
    (aten.histc.default, (_X, 4)),
    *[(aten.grid_sampler_3d.default, (_VOLUME, _GRID, m, p, a)) for m in (0, 1) for p in (0, 1, 2) for a in (True, False)],
    *[(aten.grid_sampler_2d.default, (_VOLUME[:, :, 0], 900 * _GRID[:, 0, ..., :2], m, 2, a)) for m in (0, 1) for a in (True, False)],
    (aten.index_add.default, (_X, 1, _INDEX, _Y[:, :4]), {"alpha": 2}),
    (aten.index_add.default, (torch.tensor(1.0), 0, torch.tensor([0]), torch.tensor(2.0))),
    (aten.index_copy.default, (_X, 0, torch.tensor([2, 0]), _Y[:2])),
    (aten.index_fill.int_Scalar, (_X, 1, torch.tensor([0, -1]), 7.0)),
    (aten.index_put.default, (_X, [_INDEX[:3] - 2], _Y[0])),
    (aten.index_put.default, (_X, [None, _INDEX], _Y[:, :4], True)),
    (aten.index_put.default, (_POINTS, [torch.tensor([[0], [1]]), None, torch.tensor([0, 2])], torch.tensor(2.0), True)),
    (aten.index_put.default, (_X, [_INDEX, torch.tensor([1, 5, 5, 0])], _Y[0, :4], True)),
    (aten.index_put.default, (_X, [_X > 0], torch.tensor(3.0))),
    (aten.index_put.default, (_X, [_X[:, 0] > 0], torch.tensor([3.0]), True)),
    (aten.index_put.default, (_X, [_X[:, 0] > 0], _Y[1])),  # a token in the place of masked ones
    (aten.index_put.default, (_X, [None, _X[0] > 0], torch.tensor(3.0))),
    (aten.index_put.default, (_X, [None, _X[0] > 0], _Y[:, :1])),
    (aten.index_put.default, (_VOLUME, [None, _VOLUME[0, :, :, :, 0] > 0], _VOLUME[:, :1, 0, 0], True)),
    (aten.masked_scatter.default, (_X, _X > 0, _Y)),
    (aten.max_unpool2d.default, (_X[:2, :2].reshape(2, 1, 1, 2), torch.tensor([0, 3, 5, 1]).reshape(2, 1, 1, 2), [2, 4])),
    (aten.max_unpool3d.default, (_X[:1, :2].reshape(1, 1, 1, 1, 2), torch.tensor([1, 6]).reshape(1, 1, 1, 1, 2), [2, 2, 2], [2, 2, 2], [0, 0, 0])),
    *[(aten.fractional_max_pool2d.default, (_VOLUME[:, 0], [2, 1], [2, 3], torch.tensor([[[s, 0.9 - s]]]).expand(2, 3, 2))) for s in (0.1, 0.7)],
    (aten.fractional_max_pool2d.default, (_VOLUME[0, 0], [2, 3], [3, 1], torch.tensor([[[0.3, 0.8]]]).expand(1, 3, 2))),
    (aten.fractional_max_pool3d.default, (_VOLUME, [1, 2, 2], [2, 2, 3], torch.tensor([[[0.2, 0.5, 0.95]]]).expand(2, 2, 3))),
    (aten.take.default, (_X, torch.tensor([[0, 23], [-1, 7]]))),
    (aten.unfold.default, (_POINTS, 1, 2, 3)),
    (aten.unfold.default, (_POINTS, -1, 3, 1)),
    *[(aten.diagonal.default, (_POINTS, offset, 2, 1)) for offset in (0, 2, -1)],
    *[(aten.diagonal_scatter.default, (_X, _Y[0, :n], offset)) for n, offset in ((4, 0), (4, 2), (3, 3), (3, -1))],
    *[(op, (rows, 5, offset)) for op in (aten.tril_indices.default, aten.triu_indices.default) for rows in (3, 7) for offset in (-2, 0, 1, 9)],
    (aten.kthvalue.default, (_X, 2, 0, True)),
    (aten.median.dim, (_X, 1)),
    (aten.median.dim, (_X, 0, True)),
    (aten.median.default, (_X,)),
    (aten.median.default, (_NAN,)),
    (aten.median.dim, (_LINES * 10 + torch.arange(6), 1)),
    (aten.nanmedian.dim, (_NAN, 1)),
    (aten.nanmedian.default, (_NAN,)),
    (aten.searchsorted.Tensor, (_X[0].sort().values, _Y), {"right": True}),
    (aten.searchsorted.Tensor, (_X.sort().values, _Y), {"side": "left", "out_int32": True}),
    (aten.bucketize.Tensor, (_Y, torch.tensor([-0.5, 0.0, 0.3]))),
    *[(aten.searchsorted.Tensor, (_LONG.sort().values, torch.cat([_LONG, _LONG[:, :9] + 0.1], 1)), {"right": r}) for r in (False, True)],
    *[(aten.bucketize.Tensor, (_Y, torch.linspace(-1, 1, n)), {"right": r}) for n in (65, 100, 128) for r in (False, True)],
    *[(aten.multilabel_margin_loss_forward.default, (_X, _LABELLED, reduction)) for reduction in (0, 1, 2)],
    (aten.multilabel_margin_loss_forward.default, (_X[0], _LABELLED[0], 1)),
    *[
        (aten._embedding_bag.default, (_Y.repeat(2, 1), torch.tensor([5, 1, 1, 0, 3, 7, 2]), offsets, False, mode, False, None, last, padding))
        for mode in (0, 1, 2)
        for padding in (-1, 1)
        for offsets, last in ((torch.tensor([0, 3, 3, 4]), False), (torch.tensor([0, 1, 3, 7]), True))
    ],
    (aten.lstm_cell.default, (_X, [_X[:, :2], _Y[:, :2]], torch.ones(8, 6) + _X.mean(), _Y.reshape(8, 3)[:, :2], _X.reshape(-1)[:8], _Y.reshape(-1)[:8])),
    (aten.gru_cell.default, (_X, _Y[:, :2], _Y.repeat(2, 1)[:6], _X.reshape(12, 2)[:6])),
    (aten.rnn_tanh_cell.default, (_X, _Y[:, :2], _Y[:2], _X[:2, :2]), {"b_hh": _X[0, :2]}),
    (aten.rnn_relu_cell.default, (_X, _Y[:, :2], _Y[:2], _X[:2, :2])),
    (aten.fake_quantize_per_tensor_affine.default, (_X * 9, 0.1, 3, -20, 50)),
    (aten.fake_quantize_per_channel_affine.default, (_X * 9, _Y[0].abs() / 9, torch.arange(6).int(), 1, -20, 50)),
    *[
        (aten.ctc_loss.IntList, (_LOG_PROBS, _LABELS, [5, 3], [3, short], 0, reduction, infinite))
        for short in (0, 2, 3)
        for reduction in (0, 1, 2)
        for infinite in (False, True)
    ],
    (aten.ctc_loss.Tensor, (_LOG_PROBS, _LABELS, torch.tensor([4, 5]), torch.tensor([3, 1]), 2)),
    *[(aten.linalg_inv_ex.default, (a,)) for a in _MATRICES],
    *[(aten._linalg_det.default, (a,)) for a in (*_MATRICES, torch.ones(3, 3), torch.zeros(2, 2))],
    (aten._linalg_solve_ex.default, (_MATRICES[0], _MATRICES[0][..., :2])),
    (aten._linalg_solve_ex.default, (_MATRICES[0], _MATRICES[0][..., 0])),
    (aten._linalg_solve_ex.default, (_MATRICES[0], _MATRICES[0][:, :3]), {"left": False}),
    *[(aten.linalg_cholesky_ex.default, (_MATRICES[0] @ _MATRICES[0].mT,), {"upper": upper}) for upper in (False, True)],
    *[
        (aten.linalg_solve_triangular.default, (_MATRICES[0] + 2 * torch.eye(4), _MATRICES[0]), {"upper": u, "left": l, "unitriangular": one})
        for u in (False, True)
        for l in (False, True)
        for one in (False, True)
    ],
    *[(aten.cholesky_solve.default, (_MATRICES[0][..., :3], _MATRICES[0].tril() + 2 * torch.eye(4), u)) for u in (False,)],
    *[(op, (_X * 0.9,)) for op in (aten.asinh.default, aten.atanh.default)],
    (aten.acosh.default, (_X.abs() + 1,)),
    (aten.copysign.Tensor, (_X, -_X.relu())),
    *[(aten.linalg_lstsq.default, (a, _MATRICES[0][:, :3, :2])) for a in (_MATRICES[0][:, :3, :2], _MATRICES[0][:, :3])],
    (aten._int_mm.default, (torch.arange(-80, 80, dtype=torch.int8).reshape(20, 8), torch.arange(64, dtype=torch.int8).reshape(8, 8))),
    (aten.conv_tbc.default, (_POINTS, _OTHERS[:, :3].transpose(1, 2), _X[0, :3], 1)),
    (aten.__rshift__.Scalar, (_LINES * 9 - 20, 2)),
    (aten.__lshift__.Tensor, (_LINES, _LINES)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name())
def test_own_parts_compute_what_the_operator_computes(case):
    function, args, kwargs = (*case, {})[:3]
    parts = decompositions.parts_of(function)
    assert parts is decompositions._OURS.get(function, decompositions._OURS.get(function.overloadpacket))
    got, want = _listed(parts(*args, **kwargs)), _listed(function(*args, **kwargs))
    results = 1 if "linalg" in function.name() or "bag" in function.name() else len(want)  # the others are for a backward pass
    torch.testing.assert_close(got[:results], want[:results], equal_nan=True)


def _listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def module(forward: str, inputs: str, init: str = "pass", arguments: str = "x") -> str:
    return f"""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {arguments}):
        {forward}
def get_inputs(): return [{inputs}]
"""


RECORDED = {
    "nan_to_num": module("return torch.nan_to_num(x / y.relu(), nan=1.0)", "torch.randn(4, 6), torch.randn(4, 6)", arguments="x, y"),
    "nan_to_num_": module("z = x.clone(); z[1:].log_().nan_to_num_(); return z", "torch.randn(4, 6)"),
    "_foreach_lerp": module("return torch._foreach_lerp([x, y], [y, x], 0.3)", "torch.randn(4, 6), torch.randn(4, 6)", arguments="x, y"),
    "_foreach_norm": module("return torch._foreach_norm([x, x[0]], 1)", "torch.randn(4, 6)"),
    "channel_shuffle": module("return F.channel_shuffle(x, 2)", "torch.randn(2, 4, 3, 3)"),
    "index_add_": module("return torch.zeros_like(x).index_add_(0, y, x)", "torch.randn(4, 6), torch.randint(4, (4,))", arguments="x, y"),
    "index_put_": module("z = x.clone(); z[x > 0] = 0.5; z[:, 1] = 2.0; return z", "torch.randn(4, 6)"),
    "median": module("return torch.median(x, 1)", "torch.randn(4, 7)"),
    "grid_sampler_2d": module(
        "return F.grid_sample(x, y.tanh(), align_corners=False)", "torch.randn(2, 3, 5, 5), torch.randn(2, 4, 4, 2)",
        arguments="x, y",
    ),
    "_weight_norm_interface": module(
        "return self.f(x)", "torch.randn(4, 6)", "self.f = nn.utils.parametrizations.weight_norm(nn.Linear(6, 3))"
    ),
    "_trilinear": module("return self.f(x, y)", "torch.randn(4, 6), torch.randn(4, 2)", "self.f = nn.Bilinear(6, 2, 3)", "x, y"),
    "lstm_cell": module("return self.f(x)", "torch.randn(4, 6)", "self.f = nn.LSTMCell(6, 5)"),
    "ctc_loss": module(
        "return F.ctc_loss(x.log_softmax(-1), y, torch.full((2,), 6), torch.full((2,), 3))",
        "torch.randn(6, 2, 5), torch.randint(1, 5, (2, 3))", arguments="x, y",
    ),
    "fake_quantize_per_tensor_affine": module("return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -9, 9)", "torch.randn(4, 6)"),
    "embedding_renorm_": module("return F.embedding(x, self.f.clone(), max_norm=1.0)", "torch.randint(6, (4, 3))", "self.register_buffer('f', torch.randn(9, 5))"),
    "unfold_backward": module("return torch.ops.aten.unfold_backward(x, [2, 12], 1, 4, 3)", "torch.randn(1, 3, 4)"),
    "select_copy": module("return torch.select_copy(x, 1, 2), torch.slice_copy(x, 1, 0, 5, 2)", "torch.randn(4, 6)"),
    "_embedding_bag": module("return self.f(x)", "torch.randint(9, (4, 3))", "self.f = nn.EmbeddingBag(9, 5, mode='max')"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_named_operator_is_recorded_as_its_parts(name):
    source = RECORDED[name]
    whole, split = plan_of(reference(source)), plan_of(reference(source, split=[f"aten::{name.removesuffix('_')}"]))
    assert any(op.split(".")[0] == name for op in ops(whole["run"]))
    assert not any(op.split(".")[0].removesuffix("_") == name.removesuffix("_") for op in ops(split["run"]))
    torch.testing.assert_close(replayed(split, seed=3), eager(source, seed=3), equal_nan=True)
    assert [entry[0] for entry in split["state"]] == [entry[0] for entry in whole["state"]]


def test_what_nobody_can_split_stays_whole():
    source = module("return torch.relu(x), torch.linalg.eigvalsh(x)", "torch.randn(3, 3)")
    names = ["aten::_linalg_eigh", "aten::no_such_operator", "other::relu", "", "nonsense"]
    assert plan_of(reference(source, split=names)) == plan_of(reference(source))


def test_draws_stay_whole():
    source = module("return F.gumbel_softmax(x), torch.empty_like(x).uniform_(0, 2)", "torch.randn(3, 3)")
    assert {"exponential_", "uniform_"} <= set(ops(plan_of(reference(source, split=["aten::exponential", "aten::uniform"]))["run"]))


def test_parts_that_cannot_be_written_leave_the_operator_whole():
    source = module("z = x.clone(); z[x > 0] = y; return z", "torch.randn(4, 6), torch.randn(7)", arguments="x, y")
    assert "index_put_" in ops(plan_of(reference(source, split=["aten::index_put"]))["run"])


def test_inputs_are_not_split():
    source = module("return x * self.f", "torch.nan_to_num(torch.randn(4))", "self.register_buffer('f', torch.nan_to_num(torch.ones(4)))")
    split = plan_of(reference(source, split=["aten::nan_to_num"]))
    assert "nan_to_num" in ops(split["generate"]) and "nan_to_num" not in ops(split["setup"])


def test_lists_that_are_written_in_place_are_always_single_writes():
    source = module(
        "z = [x.clone(), y.clone()]; torch._foreach_addcdiv_(z, [x, y], [x.exp(), y.exp()], [0.5, 2.0]); torch._foreach_neg_(z); return z",
        "torch.randn(4, 6), torch.randn(5)", arguments="x, y",
    )  # fmt: skip
    plan = plan_of(reference(source))
    assert ops(plan["run"])[-4:] == ["addcdiv_", "addcdiv_", "neg_", "neg_"]
    torch.testing.assert_close(replayed(plan, seed=3), eager(source, seed=3))


@pytest.mark.parametrize(
    "write", ("y.as_strided((4,), (7,)).fill_(1.0)", "v = y.as_strided((2, 2), (2, 1)); y.mul_(2); y = y + v.sum()")
)
def test_a_view_whose_copy_would_lose_a_write_stays_a_view(write):
    source = module(f"y = x.clone(); {write}; return y", "torch.randn(4, 6)")
    failure = reference(source, split=["aten::as_strided"])
    assert not failure["ok"] and "copy" in failure["message"]


def test_a_view_that_is_only_read_may_be_a_copy():
    source = module("y = x.clone(); v = y.as_strided((2, 2), (2, 1)) + 1; y.mul_(2); return y, v", "torch.randn(4, 6)")
    split = plan_of(reference(source, split=["aten::as_strided"]))
    assert "as_strided" not in ops(split["run"])
    torch.testing.assert_close(replayed(split, seed=3), eager(source, seed=3))


def test_what_is_written_to_out_is_computed_and_copied():
    source = module(
        "o = torch.empty(4, 4, device=x.device); v, i = torch.empty(4, device=x.device), o.new_empty(4, dtype=torch.long);"
        " torch.mm(x, x.t(), out=o); torch.max(o, 1, out=(v, i)); torch.clamp(o, -1, 1, out=o); torch.sinc(o, out=o); return o, v, i",
        "torch.randn(4, 6)",
    )
    split = plan_of(reference(source, split=["aten::mm", "aten::max", "aten::clamp", "aten::sinc"]))
    assert not any("out" in op or "max.dim_max" in op for op in ops(split["run"])), ops(split["run"])
    torch.testing.assert_close(replayed(split, seed=3), eager(source, seed=3))


WHOLE = {
    "combinations": "torch.combinations(x[0], 3), torch.combinations(x[:, 0], 2, with_replacement=True)",
    "cov": "torch.cov(x, fweights=y), torch.cov(x, aweights=x[0].abs()), torch.cov(x, correction=0, fweights=y, aweights=x[0].abs())",
    "istft": "torch.istft(torch.stft(x, 4, 2, return_complex=True, window=x[0, :4].exp()), 4, 2, window=x[0, :4].exp())",
    "diagonals": "x.clone().fill_diagonal_(1.0, wrap=True), x.t().contiguous().fill_diagonal_(1.0, wrap=True)",
    "isin": "torch.isin(2, y), torch.isin(2, y, invert=True)",
}


@pytest.mark.parametrize("name", WHOLE)
def test_composites_are_recorded_without_reading_values(name):
    source = module("return " + WHOLE[name], "torch.randn(4, 6), torch.randint(0, 3, (6,))", arguments="x, y")
    torch.testing.assert_close(replayed(plan_of(reference(source)), seed=3), eager(source, seed=3))
