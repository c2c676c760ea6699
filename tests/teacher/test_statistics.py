"""Running statistics that a batch norm moves while others read them, against PyTorch: what it leaves in them, too."""

import pytest

import oracle

NORM = "F.batch_norm(x, y, z, training=True)"
# name: body of f, whose inputs are x, of (6, 5, 7), and running statistics y and z
PROGRAMS = {
    "nobody_reads": NORM,
    "read_before": f"(x * y[:, None], {NORM}, z.exp())",
    "read_behind": f"({NORM} * y[:, None], z.exp().sum(), x.mean((0, 2)) / y)",
    "read_before_and_behind": f"(x.transpose(1, 2) * z, {NORM}, x.transpose(1, 2) * z)",
    "by_a_view": f"(lambda view: ({NORM} + view, view.exp()))(y[None, :, None])",
    "by_a_copy": f"(lambda copy: ({NORM}, copy + y))(y.clone())",
    "moved_twice": f"F.batch_norm({NORM}, y, z, training=True, momentum=0.3)",
    "moved_both_ways": f"F.batch_norm({NORM}, z, y, training=True)",
    "weights": "F.batch_norm(x, y, z, y, z, training=True)",
    "made_here": "(lambda m, v: (F.batch_norm(x, m, v, training=True), m + y, v.view(1, 5).exp()))(y * 2, z.repeat(1))",
    "one_tensor": "(F.batch_norm(x, y, y, training=True), z)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_statistics(name):
    assert oracle.check(oracle.file_of("(6,5,7),(5,),(5,)", PROGRAMS[name]), "f", is_function=True, strict=True)
