"""Streams one answer with the openai client and prints what came, as one JSON object.

usage: client.py BASE_URL MODEL REQUEST_ID ABORT_AFTER

ABORT_AFTER pieces of text the client goes away; 0: it reads to the end.
"""
import json
import sys
import time

import openai

base, model, rid, abort = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
client = openai.OpenAI(base_url=base, max_retries=0)
out = {"pieces": 0, "error": 0, "cut": False, "response_id": "", "finish_reason": "", "tokens": 0}
start = time.time()
try:
    stream = client.chat.completions.create(
        model=model, stream=True, max_tokens=40, stream_options={"include_usage": True},
        messages=[{"role": "user", "content": "marker-of-a-prompt: tell me about pauses. " + rid}], extra_headers={"X-Request-Id": rid},
    )
    for chunk in stream:
        out["response_id"] = chunk.id
        if chunk.usage:
            out["tokens"] = chunk.usage.completion_tokens
        for choice in chunk.choices:
            if choice.delta.content:
                out["pieces"] += 1
                out.setdefault("first_us", round((time.time() - start) * 1e6))
            if choice.finish_reason:
                out["finish_reason"] = choice.finish_reason
        if abort and out["pieces"] >= abort:
            stream.close()
            break
except openai.APIStatusError as e:
    out["error"] = e.status_code
except Exception as e:  # in the middle of the stream; the client passes httpx's own errors on, too
    out["cut"] = True
    print(type(e).__name__, file=sys.stderr)
out["end_us"] = round((time.time() - start) * 1e6)
print(json.dumps(out))
