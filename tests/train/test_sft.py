"""`sft` as its users meet it: trained, killed, stopped, gone on with, given what is wrong."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from conftest import BINARY, ROOT, conversations, lines, make_model, sft, start


def finish(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_until(process, ready):
    deadline = time.monotonic() + 120
    while not ready():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def checkpoints(out):
    folder = out / "checkpoints"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def last_state(out):
    folder = out / "checkpoints" / checkpoints(out)[-1]
    return {name: (folder / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")}


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_killed_and_stopped_it_ends_with_the_same_bits(dtype, config, tmp_path):
    path = config(dtype=dtype, steps=24, save_keys="every = 4")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    summary = finish(sft("--config", path, "--out", whole, "--json"))
    assert summary["end"] == "finished" and summary["steps"] == 24
    losses = [line["loss"] for line in lines(whole) if "loss" in line]
    assert len(losses) == 24 and losses[-1] < 0.8 * losses[0]

    killed = start("--config", path, "--out", parts)
    wait_until(killed, lambda: "step-00000004" in checkpoints(parts))
    killed.kill()
    killed.communicate()
    stopped = sft("--config", path, "--out", parts, "--stop-after", 0.01)  # at once
    assert stopped.returncode == 75 and "not finished" in stopped.stdout, stopped.stderr
    again = start("--config", path, "--out", parts)
    wait_until(again, lambda: any(line["step"] >= 12 for line in lines(parts)))
    again.kill()
    again.communicate()
    finish(sft("--config", path, "--out", parts, "--json"))
    assert last_state(parts) == last_state(whole)
    assert (parts / "final/model.safetensors").read_bytes() == (whole / "final/model.safetensors").read_bytes()
    assert [line["loss"] for line in lines(parts) if "loss" in line] == losses
    assert len(checkpoints(parts)) == 2  # save.keep
    # Once more: there is nothing to do.
    assert finish(sft("--config", path, "--out", parts, "--json"))["steps"] == 24


def test_what_it_writes_is_a_model_of_transformers_with_the_loss_it_says(config, tmp_path):
    """Masks, weights and alignment: the held-out loss is that of transformers over the answers' tokens."""
    out = tmp_path / "run"
    summary = finish(sft("--config", config(data_keys="plan_weight = 0.25", batches=100), "--out", out, "--json"))
    folder = out / "checkpoints/step-00000012"
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    total = weights = 0.0
    template = (folder / "chat_template.jinja").read_text()
    for row in conversations():
        text = tokenizer.apply_chat_template(row, chat_template=template, tokenize=False)
        question = tokenizer.apply_chat_template(row[:-1], chat_template=template, tokenize=False, add_generation_prompt=True)
        answer = tokenizer.encode(text[len(question):].rstrip("\n"), add_special_tokens=False)
        asked = tokenizer.encode(question, add_special_tokens=False)
        ids = torch.tensor(asked + answer)
        code, at = len(ids), text[len(question):].index("```python")  # the fence is code
        for i in range(len(answer)):
            if len(tokenizer.decode(answer[:i])) >= at:
                code = len(asked) + i
                break
        with torch.no_grad():
            losses = torch.nn.functional.cross_entropy(model(ids[None]).logits[0, :-1], ids[1:], reduction="none")
        weight = torch.tensor([0.0 if i < len(asked) else 0.25 if i < code else 1.0 for i in range(1, len(ids))])
        total += float((losses * weight).sum())
        weights += float(weight.sum())
    assert summary["held_out_loss"] == pytest.approx(total / weights, rel=1e-4)
    assert summary["loss"] > 0
    final = AutoModelForCausalLM.from_pretrained(out / "final")
    assert final.dtype == torch.bfloat16
    assert (out / "final/tokenizer.json").exists() and (out / "final/chat_template.jinja").exists()
    assert list(out.glob("events.out.tfevents.*"))


def test_ctrl_c_leaves_a_checkpoint(config, tmp_path):
    out = tmp_path / "run"
    path = config(steps=100000)
    process = start("--config", path, "--out", out)
    wait_until(process, lambda: len(lines(out)) > 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    (name,) = checkpoints(out)
    assert AutoModelForCausalLM.from_pretrained(out / "checkpoints" / name)
    done = sft("--config", path, "--out", out, "--stop-after", 1.5)
    assert done.returncode == 75 and f"going on from {out}/checkpoints/{name}" in done.stderr, done.stderr


def test_a_full_disk_leaves_the_checkpoint_before(config, tmp_path):
    out = tmp_path / "run"
    path = config(steps=8, save_keys="every = 2")
    assert sft("--config", path, "--out", out, "--stop-after", 0.01).returncode == 75
    before = last_state(out)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    full = sft("--config", path, "--out", out, preexec_fn=limit)
    assert full.returncode == 2, full.stderr
    assert "checkpoint of step 2 could not be written" in full.stderr and "File too large" in full.stderr
    assert "the last one is" in full.stderr and "fault of Tritogen" not in full.stderr
    assert checkpoints(out) == ["step-00000000"] and last_state(out) == before
    finish(sft("--config", path, "--out", out, "--json"))


def test_a_loss_that_is_no_number_stops_it(config, tmp_path):
    out = tmp_path / "run"
    path = config(train_keys="clip = 0", save_keys="every = 1")
    path.write_text(path.read_text().replace("lr = 3e-3", "lr = 1e30").replace("warmup = 2", "warmup = 0"))
    done = sft("--config", path, "--out", out)
    assert done.returncode == 2 and "is no number any more" in done.stderr, done.stderr
    assert "of epoch 0, which begins with examples" in done.stderr and "the last checkpoint is" in done.stderr
    state = load_file(out / "checkpoints" / checkpoints(out)[-1] / "optimizer.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in state.values())


def test_damaged_and_other_checkpoints_are_refused(config, model, tmp_path):
    out = tmp_path / "run"
    path = config(steps=6, save_keys="every = 2")
    finish(sft("--config", path, "--out", out, "--json"))
    other = sft("--config", path, "--out", out, "--lr", 0.5)
    assert other.returncode == 2 and "train.lr was 0.003 and is 0.5" in other.stderr
    state = out / "checkpoints/step-00000006/optimizer.safetensors"
    whole = state.read_bytes()
    middle = len(whole) // 2
    for damaged, word in [(whole[:-1], "is cut"), (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], "was changed")]:
        state.write_bytes(damaged)
        refused = sft("--config", path, "--out", out)
        assert refused.returncode == 2 and "step-00000006 is damaged: optimizer.safetensors " + word in refused.stderr
    state.write_bytes(whole)
    position = out / "checkpoints/step-00000006/training.json"
    position.write_text(position.read_text().replace('"step": 6', '"step": 5'))
    assert "step-00000006 is damaged" in sft("--config", path, "--out", out).stderr
    data = tmp_path / "other.jsonl"
    data.write_text(json.dumps({"messages": conversations()[0]}) + "\n")
    position.write_text(position.read_text().replace('"step": 5', '"step": 6'))
    other = sft("--config", config("other.toml", steps=6, data=data), "--out", out)
    assert other.returncode == 2 and "the data is other" in other.stderr, other.stderr


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def change_position(folder, change):
    """Changes training.json as docs/formats/training.md has it, checksum and all."""
    path = folder / "training.json"
    position = json.loads(path.read_text())
    del position["crc32c"]
    change(position)
    position["crc32c"] = crc32c(json.dumps(position, sort_keys=True, separators=(",", ":")).encode())
    path.write_text(json.dumps(position))


def test_choices_of_products_are_kept_and_older_checkpoints_go_on(config, tmp_path):
    """On a CPU nothing is chosen: what a GPU had chosen stays, and nothing else is changed by it."""
    chosen = {"forward 96x256x32": "0123456789abcdef" * 8, "to input 32x256x96": "aten"}
    plain, choosing = config(), config("choosing.toml", train_keys="choose_products = true")
    finish(sft("--config", plain, "--out", tmp_path / "whole", "--json"))
    cases = {"older": lambda position: position.pop("products"), "chosen": lambda position: position.update(products=chosen)}
    for name, change in cases.items():
        out = tmp_path / name
        assert sft("--config", plain, "--out", out, "--stop-after", 0.01).returncode == 75
        change_position(out / "checkpoints" / checkpoints(out)[-1], change)
        finish(sft("--config", choosing, "--out", out, "--json"))
        assert last_state(out) == last_state(tmp_path / "whole")
        last = json.loads((out / "checkpoints/step-00000012/training.json").read_text())
        assert last["products"] == (chosen if name == "chosen" else {})
    change_position(out / "checkpoints/step-00000012", lambda position: position["products"].update({"forward 96x256x32": "0123"}))
    refused = sft("--config", choosing, "--out", out)
    assert refused.returncode == 2, refused.stderr
    assert "step-00000012 is damaged: products.forward 96x256x32: is no algorithm of a product" in refused.stderr, refused.stderr


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_ranks(*arguments):
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]
    return [start(*arguments, environment=rank) for rank in ranks]


def test_two_ranks_learn_what_one_learns(config, tmp_path):
    path = config(train_keys="choose_products = true")  # on a CPU: to no effect
    finish(sft("--config", path, "--out", tmp_path / "one", "--json"))
    ranks = start_ranks("--config", path, "--out", tmp_path / "two", "--json")
    results = [rank.communicate(timeout=120) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], results
    one, two = [[line["loss"] for line in lines(tmp_path / name) if "loss" in line] for name in ("one", "two")]
    assert one == pytest.approx(two, rel=1e-5) and len(one) == 12
    first, second = [load_file(tmp_path / name / "checkpoints/step-00000012/model.safetensors") for name in ("one", "two")]
    for name, tensor in first.items():
        torch.testing.assert_close(second[name], tensor, rtol=1e-4, atol=1e-5)


def test_torchrun_starts_the_ranks_and_their_end_is_its_own(config, tmp_path):
    """With torchrun's own store, ports and restarts; --no-python: a rank is the program itself."""
    path, out = config(), tmp_path / "run"
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable}

    def torchrun(*arguments):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python", BINARY]
        return subprocess.run([*map(str, [*command, "sft", "--device", "cpu", "--config", path, *arguments])], env=variables,
                              capture_output=True, text=True, timeout=180)  # fmt: skip

    done = torchrun("--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 12  # one rank speaks
    finish(sft("--config", path, "--out", tmp_path / "one", "--json"))
    one, two = [[line["loss"] for line in lines(folder) if "loss" in line] for folder in (tmp_path / "one", out)]
    assert one == pytest.approx(two, rel=1e-5) and len(one) == 12
    path.write_text(path.read_text().replace("accumulation = 2", "accumulation = 3"))
    refused = torchrun("--out", tmp_path / "other")
    assert refused.returncode != 0 and "must be a multiple" in refused.stderr


def test_a_rank_that_dies_ends_the_others_and_nothing_is_lost(config, tmp_path):
    out = tmp_path / "run"
    path = config(steps=100000, save_keys="every = 3")
    first, second = start_ranks("--config", path, "--out", out, "--rank-timeout", "5")
    wait_until(first, lambda: "step-00000003" in checkpoints(out))
    second.kill()
    second.communicate()
    _, err = first.communicate(timeout=30)
    assert first.returncode == 3 and "another rank is gone" in err, err
    ranks = start_ranks("--config", path, "--out", out, "--stop-after", "0.01")
    assert [rank.communicate(timeout=60) and rank.returncode for rank in ranks] == [75, 75]


def test_ranks_that_cannot_share_the_passes_are_told(config, tmp_path):
    path = config()
    path.write_text(path.read_text().replace("accumulation = 2", "accumulation = 3"))
    for rank in start_ranks("--config", path, "--out", tmp_path / "run"):
        _, err = rank.communicate(timeout=60)
        assert rank.returncode == 2 and "must be a multiple" in err, err


@pytest.mark.parametrize("keys, words", [
    ({"train_keys": "epoch = 3"}, "unknown key 'epoch' in [train]; did you mean 'epochs'?"),
    ({"train_keys": "epochs = 3"}, "Give one of epochs, steps and minutes"),
    ({"train_keys": "schedule = \"cosin\""}, "did you mean 'cosine'?"),
    ({"dtype": "fp16"}, "there is no 'fp16'"),
    ({"train_keys": "min_lr = 1"}, "train.min_lr: 1 is more than lr = 0.003"),
    ({"model": "/nowhere"}, "/nowhere"),
    ({"data": "/nowhere"}, "/nowhere"),
    ({"data_keys": "plan_weight = -1"}, "data.plan_weight: -1 is outside"),
])  # fmt: skip
def test_wrong_configurations_are_said(keys, words, config, tmp_path):
    done = sft("--config", config(**keys), "--out", tmp_path / "run")
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert "fault of Tritogen" not in done.stderr


def test_the_command_line_must_fit_the_configuration(config, tmp_path):
    """Said before data is read and anything is written."""
    done = sft("--config", config(train_keys='schedule = "cosine"'), "--out", tmp_path / "run", "--minutes", 1)
    assert done.returncode == 2 and "cosine needs it" in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


def test_a_new_model_is_of_the_configuration_that_is_asked_for(data, tmp_path):
    """Without checkpoints a run begins anew; what an earlier one has left is not taken for its own."""
    out, path = tmp_path / "run", tmp_path / "new.toml"

    def begin(layers):
        path.write_text(f"""
            [model.new]
            vocabulary = 300
            context = 256
            hidden = 32
            layers = {layers}
            heads = 2
            kv_heads = 1
            head_dim = 16
            intermediate = 48
            [data]
            data = ["{data}"]
            longest = 256
            [train]
            batch_tokens = 512
            steps = 2
            [eval]
            batches = 0
        """)
        return sft("--config", path, "--out", out, "--json")

    def train(layers):
        summary = finish(begin(layers))
        return json.loads((pathlib.Path(summary["model"]) / "config.json").read_text())["num_hidden_layers"]

    assert train(1) == 1
    start = (out / "start/model.safetensors").stat().st_mtime_ns
    shutil.rmtree(out / "checkpoints")
    refused = begin(1)
    assert refused.returncode == 2 and "final is the result of another run" in refused.stderr, refused.stderr
    shutil.rmtree(out / "final")
    assert train(1) == 1 and (out / "start/model.safetensors").stat().st_mtime_ns == start  # the same: not made again
    shutil.rmtree(out / "checkpoints")
    shutil.rmtree(out / "final")
    assert train(2) == 2


def test_wrong_data_is_said(config, data, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(data.read_text() + '{"messages": 5}\n')
    done = sft("--config", config(data=bad), "--out", tmp_path / "run")
    assert done.returncode == 2 and "bad.jsonl" in done.stderr and "65" in done.stderr, done.stderr
    long = json.dumps({"messages": [{"role": "user", "content": "word " * 500}, {"role": "assistant", "content": "x"}]})
    bad.write_text(data.read_text() + long + "\n")
    done = sft("--config", config(data=bad, steps=2), "--out", tmp_path / "run", "--json")
    assert done.returncode == 0 and "longer than 128" in done.stderr, done.stderr
    bad.write_text(long + "\n")
    done = sft("--config", config(data=bad), "--out", tmp_path / "other")
    assert done.returncode == 2 and "fault of Tritogen" not in done.stderr, done.stderr


def test_a_vocabulary_that_does_not_fit_is_said(config, tmp_path):
    small = make_model(tmp_path / "small", vocab_size=1504)
    done = sft("--config", config(model=small), "--out", tmp_path / "run")
    assert done.returncode == 2 and "do not belong together" in done.stderr, done.stderr


def test_one_run_at_a_time_in_a_folder(config, tmp_path):
    out = tmp_path / "run"
    path = config(steps=100000)
    process = start("--config", path, "--out", out)
    wait_until(process, lambda: len(lines(out)) > 1)
    second = sft("--config", path, "--out", out)
    process.kill()
    process.communicate()
    assert second.returncode == 2 and "another run works in" in second.stderr


def test_minutes_decide_how_many_steps_there_are(config, tmp_path):
    path = config()
    path.write_text(path.read_text().replace("steps = 12", "minutes = 0.03"))
    summary = finish(sft("--config", path, "--out", tmp_path / "run", "--json"))
    assert summary["total"] == summary["steps"] > 4 and summary["seconds"] < 10
    rates = [line["lr"] for line in lines(tmp_path / "run") if "lr" in line]
    assert rates[-1] < rates[len(rates) // 2] == pytest.approx(3e-3)


def test_a_new_model_learns_from_the_sample_in_the_repository(tmp_path):
    done = sft("--config", ROOT / "configs/sft_tiny.toml", "--out", tmp_path / "run", "--json", cwd=ROOT)
    finish(done)
    losses = [line["loss"] for line in lines(tmp_path / "run") if "loss" in line]
    assert losses[-1] < losses[0] - 1
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "run/final")
