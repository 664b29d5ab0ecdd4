"""Asks the numbered questions with the openai package: URL, key. Prints complaints by number, as JSON; "" is none."""
import json
import sys
import traceback

import openai

url, key = sys.argv[1:3]
client = openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0, timeout=60)
model = client.models.list().data[0].id
messages = [{"role": "user", "content": "What is 2+2?"}]


def chat(**more):
    return client.chat.completions.create(model=model, messages=messages, temperature=0, max_tokens=12, **more)


def t84():
    r = chat()
    assert r.id and r.object == "chat.completion" and r.created > 0
    assert isinstance(r.choices[0].message.content, str)
    assert r.choices[0].finish_reason in ("stop", "length")
    assert r.usage.prompt_tokens + r.usage.completion_tokens == r.usage.total_tokens
    c = client.completions.create(model=model, prompt="1+1=", max_tokens=4, n=2)
    assert [x.index for x in c.choices] == [0, 1]
    try:
        chat(top_p=7)
    except openai.BadRequestError as e:
        assert e.status_code == 400 and e.message
    else:
        raise AssertionError("top_p 7 was accepted")


def t85():
    entries = chat(logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert entries
    for e in entries:
        assert e.logprob <= 1e-6 and isinstance(e.bytes, list) and len(e.top_logprobs) == 2
        assert e.top_logprobs[0].logprob >= e.top_logprobs[1].logprob


def t86():
    ids = [40, 41, 42, 43]
    c = chat(logprobs=True, extra_body={"input_ids": ids, "return_meta_info": True}).choices[0]
    meta = c.model_extra["meta_info"]
    assert meta["prompt_tokens"] == len(ids)
    assert meta["completion_tokens"] == len(meta["output_token_logprobs"])


def t87():
    one, two = chat(seed=1), chat(seed=2)
    assert one.choices[0].message.content == two.choices[0].message.content


def t88():
    got = chat(extra_body={"return_prompt_token_ids": True}).choices[0].model_extra["prompt_token_ids"]
    assert got and all(isinstance(i, int) for i in got)


def t89():
    text, chunks = "", list(chat(stream=True, stream_options={"include_usage": True}))
    for c in chunks:
        for choice in c.choices:
            text += choice.delta.content or ""
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0
    assert all(c.usage is None for c in chunks[:-1])
    assert text == chat().choices[0].message.content
    streamed = client.completions.create(model=model, prompt="1+1=", max_tokens=4, temperature=0, stream=True)
    whole = client.completions.create(model=model, prompt="1+1=", max_tokens=4, temperature=0)
    assert "".join(c.choices[0].text for c in streamed if c.choices) == whole.choices[0].text


def complaint(ask):
    try:
        ask()
    except Exception:
        return traceback.format_exc()
    return ""


asked = {"T84": t84, "T85": t85, "T86": t86, "T87": t87, "T88": t88, "T89": t89}
print(json.dumps({number: complaint(ask) for number, ask in asked.items()}))
