"""What the official client sees."""

import itertools

import openai
import pytest

from .conftest import GREEDY

MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]


def test_models(client):
    (model,) = client.models.list().data
    assert model.id == "double" and model.owned_by == "tritogen"
    assert client.models.retrieve("double") == model
    with pytest.raises(openai.NotFoundError) as refusal:
        client.models.retrieve("another")
    assert refusal.value.code == "model_not_found"


def test_a_model_whose_name_has_a_slash(start):
    client = start("--model-name", "org/model 1").client()
    assert client.models.retrieve("org/model 1").id == "org/model 1"


def test_completion(client):
    reply = client.completions.create(model="double", prompt="hello", max_tokens=200, temperature=0)
    assert reply.id.startswith("cmpl-") and reply.object == "text_completion" and reply.model == "double"
    (choice,) = reply.choices
    assert choice.text and (GREEDY * 20).startswith(choice.text)
    assert choice.finish_reason == "length"
    assert reply.usage.completion_tokens == 200
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 200


def test_several_prompts_and_answers_come_in_order(client):
    reply = client.completions.create(model="double", prompt=["one", "two"], n=3, max_tokens=9, seed=5, echo=True)
    assert [choice.index for choice in reply.choices] == list(range(6))
    texts = [choice.text for choice in reply.choices]
    assert all(text.startswith("one") for text in texts[:3]) and all(text.startswith("two") for text in texts[3:])
    assert len(set(texts)) == 6
    ids = client.completions.create(model="double", prompt=[[5, 6], [7]], max_tokens=2)
    assert ids.usage.prompt_tokens == 3 and len(ids.choices) == 2


def test_the_seed_decides(client):
    def text(seed: int | None) -> str:
        return client.completions.create(model="double", prompt="a", max_tokens=30, seed=seed).choices[0].text

    assert text(7) == text(7) != text(8)
    assert text(None) != text(None)


@pytest.mark.parametrize("stream", [False, True])
def test_stop_strings_are_cut_off(client, stream):
    options = {"model": "double", "prompt": "a", "temperature": 0, "max_tokens": 99, "stop": ["no", " über"]}
    if stream:
        parts = [chunk.choices[0] for chunk in client.completions.create(**options, stream=True)]
        text, reason = "".join(part.text for part in parts), parts[-1].finish_reason
    else:
        (choice,) = client.completions.create(**options).choices
        text, reason = choice.text, choice.finish_reason
    assert text == "the quick 🦊 jumps" and reason == "stop"


def test_chat(client):
    reply = client.chat.completions.create(model="double", messages=MESSAGES, temperature=0, max_completion_tokens=40)
    assert reply.id.startswith("chatcmpl-") and reply.object == "chat.completion"
    (choice,) = reply.choices
    assert choice.message.role == "assistant" and (GREEDY * 9).startswith(choice.message.content)
    assert choice.finish_reason == "length" and reply.usage.completion_tokens == 40
    parts = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    options = {"model": "double", "max_tokens": 1, "temperature": 0}
    of_parts = client.chat.completions.create(messages=parts, **options).usage.prompt_tokens
    assert of_parts == client.chat.completions.create(messages=MESSAGES[1:], **options).usage.prompt_tokens


def test_streamed_chat_says_the_same(client):
    options = {"model": "double", "messages": MESSAGES, "seed": 3, "n": 2, "max_tokens": 50}
    whole = client.chat.completions.create(**options)
    texts, reasons, roles = ["", ""], [None, None], [None, None]
    stream = client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True})
    *chunks, last = list(stream)
    for chunk in chunks:
        (choice,) = chunk.choices
        texts[choice.index] += choice.delta.content or ""
        roles[choice.index] = choice.delta.role or roles[choice.index]
        reasons[choice.index] = choice.finish_reason or reasons[choice.index]
        assert chunk.usage is None and chunk.object == "chat.completion.chunk"
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == ["length"] * 2 and roles == ["assistant"] * 2
    assert last.choices == [] and last.usage == whole.usage


def test_streams_never_cut_a_character(client):
    stream = client.completions.create(model="double", prompt="a", temperature=0, max_tokens=300, stream=True)
    texts = [chunk.choices[0].text for chunk in stream]
    text = "".join(texts).removesuffix("�")  # the budget may end within a character
    assert len(texts) > 50 and "�" not in text and "🦊" in texts


def test_logprobs_of_chats(client):
    options = {"model": "double", "messages": MESSAGES, "max_tokens": 12, "temperature": 0}
    reply = client.chat.completions.create(**options, logprobs=True, top_logprobs=3)
    entries = reply.choices[0].logprobs.content
    assert len(entries) == 12
    assert bytes(itertools.chain.from_iterable(entry.bytes for entry in entries)).startswith("the quick".encode())
    assert all(len(entry.top_logprobs) == 3 and entry.logprob == -0.5 for entry in entries)
    streamed = client.chat.completions.create(**options, logprobs=True, stream=True)
    parts = [chunk.choices[0].logprobs for chunk in streamed]
    assert [entry.token for part in parts if part for entry in part.content] == [entry.token for entry in entries]
    assert client.chat.completions.create(**options).choices[0].logprobs is None


def test_logprobs_of_completions(client):
    reply = client.completions.create(model="double", prompt="a", max_tokens=20, temperature=0, logprobs=2)
    logprobs = reply.choices[0].logprobs
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.top_logprobs) == 20
    text = reply.choices[0].text
    for token, offset in zip(logprobs.tokens, logprobs.text_offset):
        assert token.startswith("bytes:") or text[offset:].startswith(token)
    assert any(token.startswith("bytes:") for token in logprobs.tokens)  # of the fox


def test_what_is_not_openais(client):
    reply = client.completions.create(
        model="double", prompt="a", max_tokens=5,
        extra_body={"top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1, "ignore_eos": True})  # fmt: skip
    assert reply.usage.completion_tokens == 5


def refused(kind: type[openai.APIStatusError], call) -> dict:
    with pytest.raises(kind) as raised:
        call()
    assert set(raised.value.body) == {"message", "type", "param", "code"}
    return raised.value.body


def test_errors_name_the_parameter(client):
    def chat(**options):
        return lambda: client.chat.completions.create(**{"model": "double", "messages": MESSAGES} | options)

    assert refused(openai.BadRequestError, chat(temperature=3))["param"] == "temperature"
    assert refused(openai.BadRequestError, chat(n=0))["param"] == "n"
    assert refused(openai.BadRequestError, chat(extra_body={"bogus": 1}))["param"] == "bogus"
    assert refused(openai.BadRequestError, chat(tools=[{"type": "function", "function": {"name": "f"}}]))["param"] == "tools"
    assert refused(openai.BadRequestError, chat(frequency_penalty=1))["param"] == "frequency_penalty"
    assert refused(openai.BadRequestError, chat(stream=True, top_logprobs=2))["param"] == "top_logprobs"
    picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    assert refused(openai.BadRequestError, chat(messages=picture))["param"] == "messages[0].content[0].type"
    missing = refused(openai.NotFoundError, chat(model="gpt-4"))
    assert missing["code"] == "model_not_found" and missing["param"] == "model"
    long = refused(openai.BadRequestError, chat(messages=[{"role": "user", "content": "a b " * 3000}]))
    assert long["code"] == "context_length_exceeded" and long["param"] == "messages"
    # What only the engine refuses.
    assert "does not like" in refused(openai.BadRequestError, chat(seed=666))["message"]


def test_a_failure_of_the_engine_is_the_requests_own(client):
    def ask(prompt: str, **options):
        return client.completions.create(model="double", prompt=prompt, max_tokens=9, **options)

    body = refused(openai.InternalServerError, lambda: ask("PLEASE FAIL"))
    assert body["message"] == "the double failed, as asked" and body["type"] == "server_error"
    received = []
    with pytest.raises(openai.APIError, match="as asked"):
        for chunk in ask("PLEASE FAIL", stream=True, n=2):
            received.append(chunk)
    assert received
    assert ask("and on").choices[0].finish_reason == "length"


def test_an_engine_that_fails_for_good_is_no_healthy_one(start):
    server = start()
    ask = server.client().completions.create
    for seed in (667, 1):
        body = refused(openai.InternalServerError, lambda: ask(model="double", prompt="a", seed=seed))
        assert body["code"] == "engine_failed"
    status, health = server.get("/health")
    assert status == 503 and "failed for good" in health


def test_the_key_is_asked_for(start):
    server = start("--api-key", "s3cret")
    for key in ("wrong", "s3cre", "s3crett"):
        client = server.client(api_key=key)
        assert refused(openai.AuthenticationError, client.models.list)["code"] == "invalid_api_key"
    client = server.client(api_key="s3cret")
    assert client.models.list().data[0].id == "double"
    assert client.completions.create(model="double", prompt="a").choices[0].text
    assert server.get("/health")[0] == 200 and server.get("/v1/models")[0] == 401


def test_a_full_queue_is_said_and_passes(start):
    server = start("--slots", 2, "--max-queue", 2, "--step", 0.01)
    client = server.client()
    assert refused(openai.BadRequestError, lambda: client.completions.create(model="double", prompt="a", n=5))["param"] == "n"
    streams = [client.completions.create(model="double", prompt="a", max_tokens=1500, n=2, stream=True) for _ in range(2)]
    with pytest.raises(openai.RateLimitError) as raised:
        client.completions.create(model="double", prompt="a")
    assert raised.value.response.headers["retry-after"] == "1" and raised.value.body["code"] == "queue_full"
    for stream in streams:
        assert next(stream).choices[0].text
        stream.close()
    patient = server.client(max_retries=5).completions.create(model="double", prompt="a", max_tokens=3)
    assert patient.choices[0].text
