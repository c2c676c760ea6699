"""`eval`, and `convert` with a model folder: a random model, whose answers all fail, beside the teacher, whose answers pass."""

import json
import signal
import time

SQUARE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return []
"""


def test_teacher_passes_and_is_counted(evaluate, tmp_path):
    summary = evaluate("--proposer", "teacher", "--level", "1,2", "--count", "3", "-n", "2", "--out", "out", "--html", "page.html")
    teacher = summary["proposers"]["teacher"]
    assert teacher["all"]["tasks"] == 6 and teacher["verdicts"] == {"passed": teacher["all"]["answers"]}
    assert teacher["all"]["pass"]["1"]["value"] == 1 and 0.5 < teacher["all"]["pass"]["1"]["low"] < 1
    assert set(teacher["groups"]) == {"level 1", "level 2"}
    lines = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert {line["id"] for line in lines} == {f"held-out/{level}/{i}" for level in (1, 2) for i in range(3)}
    assert json.loads((tmp_path / "out/summary.json").read_text()) == summary
    assert "level 2, pass@1" in (tmp_path / "page.html").read_text()


def test_random_model_fails_by_name_and_goes_on_where_it_stopped(evaluate, tritogen, config, model_folder, tmp_path):
    asked = ["--model", model_folder, "--level", "1", "-n", "3", "--max-tokens", "20", "--out", "out", "--failures", "wrong.jsonl"]
    first = evaluate(*asked, "--count", "2")["proposers"]["tiny-qwen3"]
    assert first["all"]["answers"] == 6 and first["all"]["passed"] == 0
    assert set(first["verdicts"]) == {"no_answer: cut_off"} and first["tokens_an_answer"] == 20
    wrong = [json.loads(line) for line in (tmp_path / "wrong.jsonl").read_text().splitlines()]
    assert len(wrong) == 6 and wrong[0]["verdict"]["rule"] == "cut_off"
    assert "def program(" in wrong[0]["program"] and "class Model" in wrong[0]["reference"] and wrong[0]["answer"]

    before = (tmp_path / "out/results.jsonl").read_text()
    with open(tmp_path / "out/results.jsonl", "a") as file:
        file.write('{"id": "held-out/1/2", "group"')  # as a kill leaves it
    more = evaluate(*asked, "--count", "4")["proposers"]["tiny-qwen3"]
    assert more["all"]["tasks"] == 4 and (tmp_path / "out/results.jsonl").read_text().startswith(before)
    code, _, err = tritogen("eval", "--config", config, *asked[:-2], "--count", "2", "--seed", "2", "--device", "cpu")
    assert code == 2 and "holds another evaluation" in err


SFT = """
out = "run"
[model.new]
vocabulary = 300
context = 4096
hidden = 32
layers = 1
heads = 2
kv_heads = 1
head_dim = 16
intermediate = 48
[data]
data = ["own.jsonl"]
known_share = 1.0
[train]
batch_tokens = 4096
steps = 1
dtype = "fp32"
[eval]
batches = 1
"""


def test_a_model_learns_from_its_own_right_answers(evaluate, tritogen, tmp_path):
    """The shipped policy's, on both sides of the split; another one learns from them."""
    asked = ["--proposer", "policy", "--level", "1", "--count", "2", "-n", "2", "--conversations", "own.jsonl"]
    passed = [evaluate(*asked, "--split", split)["proposers"]["policy"]["all"]["passed"] for split in ("train", "held-out")]
    lines = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert passed[0] and passed[1] and {line["split"] for line in lines} == {"train", "test"}
    for line in lines:
        assert [message["role"] for message in line["messages"][:2]] == ["user", "assistant"]
        assert line["messages"][0]["content"].startswith("cuda, float32, strict\n")
        assert "class ModelNew" in line["messages"][-1]["content"] and line["proposer"] == "policy"
    (tmp_path / "sft.toml").write_text(SFT)
    code, out, err = tritogen("sft", "--config", "sft.toml")
    assert code == 0, err
    train = sum(line["split"] == "train" for line in lines)
    assert f"train data: {train} examples of {len(lines)} lines; {len(lines) - train} of the other split" in err


def test_splits_hold_what_they_say(evaluate):
    summary = evaluate("--proposer", "teacher", "--split", "pairs", "--level", "2", "--count", "2", "-n", "1")
    assert set(summary["proposers"]["teacher"]["operators"]) == {"relu", "tanh"}
    summary = evaluate("--proposer", "teacher", "--split", "shapes", "--level", "1", "--count", "2", "-n", "1")
    assert summary["proposers"]["teacher"]["all"]["passed"] == 2


def test_suites_of_files(evaluate, tritogen, tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/square.py").write_text(SQUARE)
    (tmp_path / "tasks/broken.py").write_text("import torch\nraise ValueError('no')\n")
    summary = evaluate("--proposer", "teacher", "--suite", "kernelbench", "tasks", "-n", "1")
    assert summary["proposers"]["teacher"]["groups"]["tasks"]["passed"] == 1
    assert any("broken.py is left out" in remark for remark in summary["remarks"])

    (tmp_path / "tasks.jsonl").write_text(json.dumps({"reference": SQUARE, "id": "mine", "group": "own"}) + "\n")
    summary = evaluate("--proposer", "teacher", "--suite", "tasks.jsonl", "-n", "1", "--answers", "answers.jsonl")
    assert summary["proposers"]["teacher"]["groups"]["own"]["passed"] == 1
    (answer,) = map(json.loads, (tmp_path / "answers.jsonl").read_text().splitlines())
    assert answer["id"] == "mine" and answer["verdict"]["verdict"] == "passed" and answer["reference"] == SQUARE
    assert "class ModelNew" in answer["answer"] and answer["proposer"] == "teacher" and answer["strategy"]
    (tmp_path / "bad.jsonl").write_text('{"reference": "x"}\n{"program": 3}\n')
    code, _, err = tritogen("eval", "--proposer", "teacher", "--suite", "bad.jsonl")
    assert code == 2 and "bad.jsonl, line 2" in err


def test_ctrl_c_keeps_what_is_done(start, config, tmp_path):
    process = start("eval", "--config", config, "--proposer", "teacher", "--split", "train", "--level", "2",
                    "--count", "30", "--out", "out", "--device", "cpu")  # fmt: skip
    results = tmp_path / "out/results.jsonl"
    deadline = time.monotonic() + 60
    while not (results.exists() and results.read_text().count("\n") >= 1) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    if process.returncode != 0:  # it may have been done already
        assert process.returncode == 130 and "run it again to go on" in err
    assert all(json.loads(line)["answers"] for line in results.read_text().splitlines())


def test_the_checkouts_configurations_are_used_from_everywhere(tritogen, tmp_path):
    """What they keep out is in the checkout, and commands run elsewhere."""
    code, _, err = tritogen("eval", "--proposer", "teacher", "--level", "1", "--count", "1", "-n", "1")
    assert code == 0, err
    (tmp_path / "set.toml").write_text('[programs]\navoid = ["none.jsonl"]\n[[level]]\nlevel = 1\nprograms = 1\n')
    code, _, err = tritogen("eval", "--config", "set.toml", "--proposer", "teacher")
    assert code == 2 and "none.jsonl" in err


def test_wrong_use_is_one_line(tritogen, config, tmp_path):
    for arguments, word in [
        (["--split", "heldout", "--proposer", "teacher"], "held-out"),
        (["--suite", "kernelbench", "--proposer", "teacher"], "name files"),
        (["--suite", "no.jsonl", "--proposer", "teacher"], "no such file"),
        (["--model", "nothing-here"], "no such model folder"),
        (["--model", tmp_path], "no model folder"),
        (["--proposer", "techer"], "did you mean 'teacher'"),
        (["--split", "pairs", "--level", "1", "--proposer", "teacher"], "level 1 has no pair"),
        (["--config", "none.toml", "--proposer", "teacher"], "none.toml"),
    ]:
        code, _, err = tritogen("eval", *([] if "--config" in arguments else ["--config", config]), *arguments)
        assert code == 2 and word in err and err.count("\n") == 1, (arguments, err)


def test_convert_tells_proposers_apart(tritogen, model_folder, tmp_path):
    (tmp_path / "square.py").write_text(SQUARE)
    code, out, err = tritogen("convert", "square.py", "--device", "cpu", "--proposer", model_folder, "--proposer", "teacher", "-n", "2",
                              "--max-tokens", "20", "--json", "--html", "page.html")  # fmt: skip
    assert code == 0, err
    report = json.loads(out)
    assert report["proposers"]["tiny-qwen3"] == {"candidates": 2, "passed": 0}
    assert report["proposers"]["teacher"]["passed"] >= 1 and (tmp_path / "square_triton.py").exists()
    assert [c["verdict"]["rule"] for c in report["candidates"] if c["proposer"] == "tiny-qwen3"] == ["cut_off"] * 2
    assert "tiny-qwen3" in (tmp_path / "page.html").read_text()
    (tmp_path / "square_triton.py").unlink()
    code, out, err = tritogen("convert", "square.py", "--device", "cpu", "--proposer", model_folder, "-n", "1", "--max-tokens", "20")
    assert code == 1 and "none was written" in out and "cut off" in out and not (tmp_path / "square_triton.py").exists()
