"""convert with a remote model: what endpoints do to it, one sample each, so that one run meets many of them."""

import json
import signal
import time

from .conftest import ANSWER, CODE, KEY, REFERENCE


def good_stream(reply, request):
    reply.stream(ANSWER)


def busy(reply, request):
    reply.refuse("429 Too Many Requests", "slow down", Retry_After="1")


def broken(reply, request):
    reply.refuse("500 Internal Server Error", "oops")


def test_a_run_with_every_kind_of_answer_loses_none(endpoint, convert, tmp_path):
    """One sample at a time, in the script's order; those that are asked again come back at once or last."""

    def cut_stream(reply, request):
        reply.head()
        reply.send(reply.event({"content": ANSWER[:100]}) + 'data: {"choices": [{"del')

    def garbage(reply, request):
        reply.body("{ not json }}")

    def huge(reply, request):
        reply.head(content_type="application/json")
        reply.send('{"choices": "')
        for _ in range(64):
            reply.send(b"x" * (1 << 20))

    def invalid_utf8(reply, request):
        reply.body(b'{"choices": [{"message": {"content": "\xff\xfe\xc3"}, "finish_reason": "stop"}]}')

    def login_page(reply, request):
        reply.body("<html><title>Sign in</title></html>", content_type="text/html")

    def json_called_html(reply, request):
        reply.whole(ANSWER, content_type="text/html")

    def reasoning_field(reply, request):
        reply.whole(f"```python\n{CODE}```", reasoning_content="Launch: one program a block.")

    def out_of_tokens(reply, request):
        reply.stream(ANSWER[:-400], finish="length")

    def echoes_the_key(reply, request):
        reply.refuse("400 Bad Request", f"your key {KEY} is fine, your request is not")

    def closes(reply, request):
        reply.reset()

    def hangs(reply, request):
        reply.head()
        reply.hang()

    def wrong_values(reply, request):
        reply.stream(ANSWER.replace("* 2.0", "* 3.0"))

    script = [good_stream, busy, broken, closes, cut_stream, garbage, huge, invalid_utf8, login_page, json_called_html,
              reasoning_field, out_of_tokens, echoes_the_key, hangs, wrong_values, good_stream]  # fmt: skip
    server = endpoint(*script)
    run = convert(server.url, "--concurrency", "1", "--idle-timeout", "3", "--prompt-price", "2",
                  "--completion-price", "10", count=12)  # fmt: skip
    assert run.process.returncode == 0, run.everything
    # Busy, broken, closed, cut and hanging answers were asked for again: 12 samples, 5 more requests.
    assert len(server.requests) == 17
    assert sorted(run.verdicts) == ["no_answer", "no_answer", *["passed"] * 5, "wrong_values"], run.everything
    rules = {one["verdict"].get("rule") for one in run.report["candidates"] if one["verdict"]["verdict"] == "no_answer"}
    assert rules == {"cut_off", "no_code"}
    assert run.report["proposers"]["remote"] == {"candidates": 8, "passed": 5}
    for words in ("no valid JSON", "longer than", "<html>", "HTTP 400"):
        assert f"1 of 12 samples failed: {server.url}/chat/completions: " in run.remarks
        assert words in run.remarks, run.remarks
    assert "def relu_twice" in (tmp_path / "out.py").read_text()
    # The log: a line for each sample, whole, with what it cost.
    assert len(run.log) == 12
    assert sum(line["failure"] is None for line in run.log) == 8
    assert sum(line["retries"] for line in run.log) == 5
    told = [line for line in run.log if line["prompt_tokens"] is not None]
    assert all(abs(line["dollars"] - (100 * 2e-6 + 50 * 10e-6)) < 1e-12 for line in told) and len(told) == 7
    # The key is nowhere but in the requests.
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert KEY not in run.everything and not any(KEY.encode() in text for text in files)
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in server.requests)


def test_many_samples_never_exceed_the_limit_and_the_teacher_goes_on(endpoint, convert):
    def slow_then_refused(reply, request):
        time.sleep(0.05)
        reply.whole("I cannot do that.")

    server = endpoint(slow_then_refused)
    run = convert(server.url, "--concurrency", "3", "--proposer", "teacher", "--no-stream", count=12)
    assert run.process.returncode == 0, run.everything
    assert len(server.requests) == 24 and server.most_at_once == 3  # each answer went back once
    assert run.verdicts == ["no_answer"] * 24
    assert run.report["proposers"]["teacher"]["passed"] > 0
    roles = [[message["role"] for message in request.body["messages"]][-3:] for request in server.requests]
    assert roles.count(["user", "assistant", "user"]) == 12
    assert "no_answer" in server.requests[-1].body["messages"][-1]["content"]
    body = server.requests[0].body
    assert body["stream"] is False and body["model"] == "m"
    assert REFERENCE.strip() in body["messages"][-1]["content"]


def test_a_function_of_drtritons_form_becomes_a_module(endpoint, convert):
    function = CODE[: CODE.index("class ModelNew")] + (
        "def triton_fused_operator(x):\n    out = torch.empty_like(x)\n    n = out.numel()\n"
        "    relu_twice[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)\n    return out\n"
    )
    server = endpoint(lambda reply, request: reply.stream(f"<triton_code>\n{function}</triton_code>"))
    run = convert(server.url, "--prompt", "drtriton")
    assert run.verdicts == ["passed"], run.everything
    prompt = server.requests[0].body["messages"][-1]["content"]
    assert "def fused_operator(x0):" in prompt and "# float32[64, 48]" in prompt


def test_what_no_sample_can_overcome_is_one_line_and_exit_code_3(endpoint, convert, tmp_path):
    server = endpoint(lambda reply, request: reply.refuse("401 Unauthorized", f"wrong key {KEY}"))
    run = convert(server.url, "--concurrency", "1", count=8)
    assert run.process.returncode == 3
    assert len(server.requests) == 1
    assert len(run.report["remarks"]) == 1 and "OPENAI_API_KEY" in run.remarks
    assert KEY not in run.everything and not (tmp_path / "out.py").exists()


def test_wrong_use_is_named_before_anything_starts(convert, endpoint):
    server = endpoint(good_stream)
    for url, options, word in [
        (server.url, ("--prompt", "nothing"), "autotriton"),
        (server.url, ("--body", "[1]"), "JSON object"),
        (server.url, ("--cost-log", "/no/such/folder/log"), "/no/such/folder/log"),
        ("http://user:secret@host/v1", (), "password"),
    ]:
        run = convert(url, *options)
        assert run.process.returncode == 2 and word in run.process.stderr, run.everything
        assert "secret@" not in run.process.stderr and run.process.stderr.count("\n") == 1
    assert not server.requests


def test_ctrl_c_while_the_endpoint_hangs(endpoint, start_convert, tmp_path):
    server = endpoint(lambda reply, request: reply.hang())
    process = start_convert(server.url, count=2)
    while not server.requests:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert not (tmp_path / "out.py").exists()
    lines = [json.loads(line) for line in (tmp_path / "cost.jsonl").read_text().splitlines()]
    assert lines and all("stopped" in line["failure"] for line in lines)
