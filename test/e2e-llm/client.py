"""Streams answers with the openai client and writes down when each chunk came, by the client's own clock.

usage: client.py BASE_URL REQUESTS MAX_TOKENS

Prints one JSON object a request. Times are µs from the moment the request was handed to the network; "prepared" is
what the client took before that. The first line tells of the surroundings: round_trip_us is what the smallest
request takes (median), jitter_us how much later than asked this machine wakes a process up (90th percentile).
"""
import json
import statistics
import sys
import time
import uuid

import openai

base, requests, max_tokens = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sent = [0.0]


def on_request(_):
    sent[0] = time.perf_counter()


client = openai.OpenAI(
    base_url=base, api_key="none", max_retries=0,
    http_client=openai.DefaultHttpxClient(event_hooks={"request": [on_request]}),
)
prompts = [
    "Name three colors.",
    "Explain why the sky is blue in two sentences.",
    "Write a short poem about the sea.",
    "Repeat exactly: 日本語 🙂🚀 žluťoučký",
    "Count from one to ten.",
]


def us(a, b):
    return round((b - a) * 1e6)


def stream(i):
    rid = f"e2e-{uuid.uuid4()}"
    out = {"request_id": rid, "t": [], "text": [], "finish_reason": None, "usage": None, "response_id": None, "model": None}
    called = time.perf_counter()
    answer = client.chat.completions.create(
        model="smollm2", stream=True, max_tokens=max_tokens, temperature=0, seed=i,
        messages=[{"role": "user", "content": prompts[i % len(prompts)]}],
        stream_options={"include_usage": True}, extra_headers={"X-Request-Id": rid},
        extra_body={"cache_prompt": False},
    )
    start = sent[0]
    out["prepared"] = us(called, start)
    for chunk in answer:
        now = time.perf_counter()
        out["response_id"], out["model"] = chunk.id, chunk.model
        if chunk.usage:
            out["usage"] = chunk.usage.completion_tokens
        for choice in chunk.choices:
            if choice.delta.content:
                out["t"].append(us(start, now))
                out["text"].append(choice.delta.content)
            if choice.finish_reason:
                out["finish_reason"] = choice.finish_reason
    out["end"] = us(start, time.perf_counter())
    return out


client.models.list()
stream(0)  # connections, imports and the model's first run are not what is measured
trips = []
for _ in range(20):
    client.models.list()
    trips.append(us(sent[0], time.perf_counter()))
late = []
for _ in range(100):
    start = time.perf_counter()
    time.sleep(0.01)
    late.append(us(start, time.perf_counter()) - 10_000)
print(json.dumps({"round_trip_us": round(statistics.median(trips)), "jitter_us": sorted(late)[89]}), flush=True)
for i in range(requests):
    print(json.dumps(stream(i)), flush=True)
