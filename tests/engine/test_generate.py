"""`tritogen generate` on a small random checkpoint: tokens and probabilities against transformers, and all that can go wrong."""

import json
import shutil
import signal

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast, Qwen3ForCausalLM

from .conftest import make_model, start

PROMPTS = ["def relu(x):\n", "The quick brown fox", "é 😀", "a"]


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.split("\n") if line]  # splitlines knows more line ends


def write_prompts(path, objects) -> str:
    path.write_text("".join((o if isinstance(o, str) else json.dumps(o)) + "\n" for o in objects))
    return str(path)


@pytest.fixture(scope="session")
def tokenizer(model_folder) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_file=str(model_folder / "tokenizer.json"))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_is_what_transformers_generates(generate, transformer, tokenizer, prompt):
    code, out, err = generate("--prompt", prompt, "--temperature", "0", "--max-tokens", "40", "--json", "--logprobs", "3")
    assert code == 0, err
    (answer,) = lines(out)
    ids = torch.tensor([tokenizer.encode(prompt)])
    expected = transformer.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=40)[0, ids.shape[1]:].tolist()
    assert answer["tokens"] == expected
    assert answer["finish"] == "length"
    assert answer["text"] == tokenizer.decode(expected, skip_special_tokens=True)
    with torch.no_grad():
        all_ids = torch.tensor([ids[0].tolist() + expected])
        logprobs = transformer(all_ids).logits[0, ids.shape[1] - 1:-1].log_softmax(-1)
    for position, entry in enumerate(answer["logprobs"]):
        assert abs(entry["logprob"] - logprobs[position, entry["token"]].item()) < 1e-3
        top = logprobs[position].topk(3)
        assert [t["token"] for t in entry["top"]] == top.indices.tolist()


# transformers rotates a prompt by frequencies of its length, and each further token by those of the length up to it. It keeps the base
# of the longest text it has seen, so each prompt has a model of its own.
@pytest.mark.parametrize("words", [5, 63, 64, 65, 120])
def test_dynamic_rope_beyond_the_models_positions(generate, tmp_path, words):
    folder = make_model(tmp_path / "dynamic", seed=3, max_position_embeddings=64,
                        rope_parameters=dict(rope_type="dynamic", factor=2.5, rope_theta=10000.0))  # fmt: skip
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    ids = torch.tensor([tokenizer.encode("a b" * words)[:words]])
    prompt = tokenizer.decode(ids[0])
    assert tokenizer.encode(prompt) == ids[0].tolist()
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=70)[0, words:].tolist()
    options = ["--prompt", prompt, "--temperature", "0", "--max-tokens", "70", "--json", "--context", "200"]
    code, out, err = generate(*options, model=folder)
    assert code == 0, err
    assert lines(out)[0]["tokens"] == expected


def test_a_context_beyond_the_models_is_refused(generate):
    code, out, err = generate("--prompt", "a", "--context", "5000")
    assert code == 2 and "a context of 5000 positions is more than the model's 4096" in err, err


def test_a_text_depends_on_nothing_that_shares_its_batch(generate, tmp_path):
    objects = [{"id": f"p{i}", "prompt": PROMPTS[i % 4] * (1 + i % 3)} for i in range(9)]
    options = ["-n", "3", "--max-tokens", "30", "--seed", "7", "--json", "--logprobs", "0"]
    code, out, err = generate("--prompts", write_prompts(tmp_path / "all.jsonl", objects), *options)
    assert code == 0, err
    together = {(a["id"], a["index"]): a for a in lines(out)}
    assert len(together) == 27
    for i in (0, 4, 8):
        alone = [""] * i + [objects[i]]  # the same line number: the same seed
        code, out, err = generate("--prompts", write_prompts(tmp_path / f"{i}.jsonl", alone), *options, "--batch", "1")
        assert code == 0, err
        for answer in lines(out):
            assert answer == together[f"p{i}", answer["index"]]
    assert len({tuple(a["tokens"]) for a in together.values()}) == 27


def test_bad_lines_are_named_and_the_others_unharmed(generate, tmp_path):
    path = write_prompts(tmp_path / "p.jsonl", ['{"prompt": "good"}', "{nonsense", '{"prompt": 5}', "", '["x"]', '{"messages": []}',
                                                json.dumps({"id": "long", "prompt": "word " * 5000}),
                                                '{"prompt": "", "id": "empty"}', '{"prompt": "also good", "id": "last"}'])  # fmt: skip
    code, out, err = generate("--prompts", path, "--max-tokens", "5", "--json", "--seed", "1")
    assert code == 1, err
    assert sorted(a["id"] for a in lines(out)) == ["last", "line 1"]
    for words in ("line 2", "line 3: 'prompt' is no text", "line 5: not a JSON object", "line 6: 'messages'", "long: the prompt has",
                  "empty: the prompt has no tokens"):  # fmt: skip
        assert words in err, (words, err)


def test_an_interrupted_file_is_gone_on_with(generate, tmp_path):
    objects = [{"id": f"p{i}", "prompt": PROMPTS[i % 4]} for i in range(8)]
    path = write_prompts(tmp_path / "p.jsonl", objects)
    options = ["--prompts", path, "-n", "2", "--max-tokens", "10", "--seed", "3", "--out", "out.jsonl"]
    code, out, err = generate(*options)
    assert code == 0 and out == "", err
    whole = (tmp_path / "out.jsonl").read_text()
    assert len(lines(whole)) == 16
    for cut in (len(whole) - 5, len(whole) // 2, 3):  # in a line, between the two answers or in them
        (tmp_path / "out.jsonl").write_text(whole[:cut])
        code, _, err = generate(*options)
        assert code == 0, err
        assert sorted(lines((tmp_path / "out.jsonl").read_text()), key=str) == sorted(lines(whole), key=str)
    code, _, err = generate(*options)
    assert code == 0 and (tmp_path / "out.jsonl").read_text().count("\n") == 16
    code, _, err = generate(*[o if o != "2" else "3" for o in options])
    assert code == 2 and "name another file" in err
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 16


def test_ctrl_c_prints_what_there_is(model_folder, tokenizer, tmp_path):
    nearly_full = tokenizer.decode(tokenizer.encode("word " * 5000)[:4080])  # of a context of 4096
    path = write_prompts(tmp_path / "p.jsonl", [{"id": "short", "prompt": nearly_full}, {"id": "long", "prompt": "abc"}])
    process = start("generate", "--model", model_folder, "--device", "cpu", "--prompts", path, "--max-tokens", "0", "--json", "-n", "4",
                    cwd=tmp_path)  # fmt: skip
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.stdout.read(), process.stderr.read()  # communicate() would lose what readline() had read ahead
    assert process.wait(timeout=60) == 130, err
    answers = lines(first + out)
    assert [(a["id"], a["finish"]) for a in answers] == [("short", "length")] * 4 + [("long", "cancelled")] * 4
    assert all(0 < len(a["tokens"]) < 4000 for a in answers)
    assert "interrupted after 1 of 2 prompts" in err


def test_chat_is_the_models_template(generate, model_folder, tmp_path):
    options = ["--temperature", "0", "--max-tokens", "12", "--json"]
    code, out, err = generate("--prompt", "Hello", "--chat", *options)
    assert code == 0, err
    (chat,) = lines(out)
    rendered = AutoTokenizer.from_pretrained(model_folder).apply_chat_template([{"role": "user", "content": "Hello"}], tokenize=False,
                                                                               add_generation_prompt=True)  # fmt: skip
    (text,) = lines(generate("--prompt", rendered, *options)[1])
    assert chat["tokens"] == text["tokens"]
    path = write_prompts(tmp_path / "p.jsonl", [{"messages": [{"role": "user", "content": "Hello"}]}, {"prompt": rendered}])
    first, second = lines(generate("--prompts", path, *options)[1])
    assert first["tokens"] == second["tokens"] == chat["tokens"]
    plain = tmp_path / "plain"
    shutil.copytree(model_folder, plain)
    (plain / "chat_template.jinja").unlink()
    code, _, err = generate("--prompt", "Hello", "--chat", model=plain)
    assert code == 2 and "no chat template" in err
    (plain / "chat_template.jinja").write_text("{% macro f() %}{% endmacro %}")
    code, _, err = generate("--prompt", "Hello", "--chat", model=plain)
    assert code == 2 and "'macro' blocks are not supported" in err
    code, out, err = generate("--prompt", rendered, *options, model=plain)  # texts need no template
    assert code == 0 and lines(out)[0]["tokens"] == chat["tokens"], err


def test_stops_and_budgets(generate, model_folder, tmp_path):
    options = ["--prompt", "x", "--temperature", "0", "--max-tokens", "30"]
    (whole,) = lines(generate(*options, "--json")[1])
    stop = whole["text"][4:7]
    (stopped,) = lines(generate(*options, "--json", "--stop", stop)[1])
    assert stopped["finish"] == "stop"
    assert stopped["text"] == whole["text"][:whole["text"].index(stop)]
    assert stopped["tokens"] == whole["tokens"][:len(stopped["tokens"])]
    ends = tmp_path / "ends"
    shutil.copytree(model_folder, ends)
    (ends / "generation_config.json").write_text(json.dumps({"eos_token_id": [whole["tokens"][5]]}))
    (ended,) = lines(generate(*options, "--json", model=ends)[1])
    at = whole["tokens"].index(whole["tokens"][5])
    assert ended["finish"] == "stop" and ended["tokens"] == whole["tokens"][:at + 1]
    (ignored,) = lines(generate(*options, "--json", "--ignore-eos", model=ends)[1])
    assert ignored["tokens"] == whole["tokens"]


def test_streamed_text_is_the_same_text(generate):
    options = ["--prompt", "once", "--temperature", "0.8", "--top-k", "50", "--seed", "11", "--max-tokens", "60"]
    code, plain, err = generate(*options)
    assert code == 0 and "seed 11" in err and "time to first token" in err
    code, streamed, err = generate(*options, "--stream")
    assert code == 0 and streamed == plain


@pytest.mark.parametrize("arguments, words", [
    ([], "either --prompt"),
    (["--prompt", "x", "--prompts", "y"], "either --prompt"),
    (["--prompts", "missing.jsonl"], "missing.jsonl"),
    (["--prompt", "x", "--stream", "-n", "2"], "--stream"),
    (["--prompt", "x", "--logprobs", "2"], "--json"),
    (["--prompt", "x", "--temperature", "-1"], "temperature is -1"),
    (["--prompt", "x", "--top-p", "0"], "top_p is 0"),
    (["--prompt", "word " * 5000], "context of 4096"),
    (["--prompt", "x", "--stop", ""], "stop string is empty"),
    (["--prompt", "x", "--out", "/dev/full", "--max-tokens", "1"], "is the disk full"),
    (["--prompt", "caf\udce9"], "--prompt is no valid UTF-8"),
    (["--prompt", "x", "--max-tokens", "-1"], "'-1' is no number of 0 or more"),
    (["--prompt", "x", "--context", "0"], "'0' is no number above 0"),
    (["--prompt", "x", "--out", "no/such/folder.jsonl"], "no/such"),
])  # fmt: skip
def test_wrong_use_is_told(generate, arguments, words):
    code, out, err = generate(*arguments)
    assert (code, out) == (2, "") and words in err, err


def test_damaged_folders_are_told(generate, model_folder, tmp_path):
    assert generate("--prompt", "x", model=tmp_path / "none")[0] == 2
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        damaged = tmp_path / f"without {name}"
        shutil.copytree(model_folder, damaged)
        (damaged / name).unlink()
        code, _, err = generate("--prompt", "x", model=damaged)
        assert code == 2 and (name in err or "weights" in err), err


def test_bench_says_before_it_runs_that_it_cannot_write(tmp_path):
    for option in ("--out", "--tokens"):
        process = start("bench", "engine", "--shape", "tiny", "--device", "cpu", option, tmp_path / "nowhere/x", cwd=tmp_path)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2 and "cannot write" in err, err
