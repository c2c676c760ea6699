"""tools/training_curve.py: what sft logs as one drawing; what is no log is refused and nothing is written."""

import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def log(folder: pathlib.Path, *rows: dict) -> pathlib.Path:
    folder.mkdir()
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "log.jsonl"


def curve(*args) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "tools/training_curve.py", *map(str, args)], capture_output=True, text=True)


def steps(losses, first=1):
    return [{"step": first + i, "tokens": 1000 * (first + i), "loss": loss} for i, loss in enumerate(losses)]


def test_runs_lie_behind_one_another(tmp_path):
    a = log(tmp_path / "start", *steps([4.0, 2.0, 1.0, None]), {"step": 3, "held_out_loss": 1.5}, {"step": 4, "held_out_loss": None})
    # After a kill its last step is done again: it counts once.
    b = log(tmp_path / "rest<2>", *steps([0.5, 9.0]), *steps([0.25, 0.125], first=2), {"step": 3, "held_out_loss": 0.2})
    finished = curve(a, b, "--out", tmp_path / "curve.svg")
    assert finished.returncode == 0, finished.stderr
    drawn = ElementTree.parse(tmp_path / "curve.svg").getroot()
    lines = [[tuple(map(float, p.split(","))) for p in line.get("points").split()] for line in drawn.iter(SVG + "polyline")]
    assert [len(line) for line in lines] == [3, 3]
    every = lines[0] + lines[1]
    assert every == sorted(every), "later tokens stand to the right, smaller losses below"
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in drawn.iter(SVG + "circle")]
    assert [dot[0] for dot in dots] == [lines[0][-1][0], lines[1][-1][0]]
    assert {"start", "rest<2>"} <= {text.text for text in drawn.iter(SVG + "text")}


def test_long_runs_are_means_of_stretches(tmp_path):
    finished = curve(log(tmp_path / "run", *steps([1.0, 3.0] * 500)), "--out", tmp_path / "curve.svg")
    assert finished.returncode == 0, finished.stderr
    line = next(ElementTree.parse(tmp_path / "curve.svg").getroot().iter(SVG + "polyline")).get("points").split()
    assert len(line) == 250 and len({point.split(",")[1] for point in line}) == 1


def test_an_axis_has_three_numbers_at_least(tmp_path):
    for name, losses, wanted in (("little", [0.0030, 0.0018], {"0.002", "0.0025", "0.003"}), ("much", [5.0, 0.05], {"0.05", "0.5", "5"})):
        finished = curve(log(tmp_path / name, *steps(losses)), "--out", tmp_path / "curve.svg")
        assert finished.returncode == 0, finished.stderr
        drawn = {text.text for text in ElementTree.parse(tmp_path / "curve.svg").getroot().iter(SVG + "text")}
        assert wanted <= drawn and not {"0.15", "1.5"} & drawn, "no more than are needed"


def test_what_is_no_log_is_refused(tmp_path):
    good = log(tmp_path / "good", *steps([1.0]))
    broken = tmp_path / "broken.jsonl"
    broken.write_text(good.read_text() + '{"step": 2, "loss"')
    for bad, says in ((broken, "broken.jsonl:2"), (tmp_path / "none.jsonl", "cannot be read"), (log(tmp_path / "empty"), "no step with a loss")):
        finished = curve(good, bad, "--out", tmp_path / "curve.svg")
        assert finished.returncode != 0 and says in finished.stderr
        assert not (tmp_path / "curve.svg").exists()
