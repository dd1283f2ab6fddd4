"""Counts what the transcripts hold, with Python's own JSON reader, into expected.json.

It shares no code and no method with the Go parser: it looks at each frame as a whole document. Run it from this
folder after adding a transcript: python3 count.py > expected.json
"""
import json, pathlib, re

BEARING = ("content", "reasoning", "tool", "refusal")


def size(s):
    return len(s.encode("utf-8", "surrogatepass")) if isinstance(s, str) else 0


class Count:
    def __init__(self):
        self.kinds = {}
        self.bytes = {}
        self.text = ""
        self.tokens = None
        self.first = None
        self.info = {"response_id": "", "model": "", "finish_reason": "", "stop_reason": "", "error": "",
                     "prompt_tokens": None, "output_tokens": None, "cached_tokens": None,
                     "prefill_us": None, "decode_us": None}

    def add(self, kind, s=""):
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if kind in BEARING:
            self.bytes[kind] = self.bytes.get(kind, 0) + size(s)
            self.text += s

    def tok(self, n):
        self.tokens = (self.tokens or 0) + n

    def set(self, **kw):
        for k, v in kw.items():
            if v not in (None, ""):
                self.info[k] = v


def chat(c, d):
    c.set(response_id=d.get("id"), model=d.get("model"))
    u = d.get("usage") or {}
    t = d.get("timings") or {}
    if t:
        c.set(prompt_tokens=t["prompt_n"] + t["cache_n"], output_tokens=t["predicted_n"], cached_tokens=t["cache_n"],
              prefill_us=round(t["prompt_ms"] * 1000), decode_us=round(t["predicted_ms"] * 1000))
    c.set(prompt_tokens=u.get("prompt_tokens"), output_tokens=u.get("completion_tokens"),
          cached_tokens=(u.get("prompt_tokens_details") or {}).get("cached_tokens"))
    if not d["choices"]:
        c.add("usage" if u else "role")
    for ch in d["choices"]:
        whole = "message" in ch
        body = ch.get("delta") or ch.get("message") or {"content": ch.get("text")}
        text = body.get("content") or ""
        if ch.get("finish_reason"):
            c.set(finish_reason=ch["finish_reason"])
        if ch.get("stop_reason"):
            c.set(stop_reason=ch["stop_reason"])
        if text:
            c.add("content", text)
        elif ch.get("finish_reason") and u and not c.continuous:
            c.add("usage")
        else:
            c.add("role")
        lp = ch.get("logprobs") or {}
        ids = ch.get("token_ids")
        if ids is not None:
            c.tok(len(ids))
        elif whole:
            if u:
                c.tok(u["completion_tokens"])
        elif c.continuous and u:
            c.tok(u["completion_tokens"] - c.before)
            c.before = u["completion_tokens"]
        elif lp.get("tokens") is not None:
            c.tok(len(lp["tokens"]))
        elif lp.get("content") and "id" not in lp["content"][0]:
            c.tok(len(lp["content"]))


def messages(c, d):
    u = d.get("usage") or (d.get("message") or {}).get("usage") or {}
    if "input_tokens" in u:
        c.set(prompt_tokens=u["input_tokens"] + (u.get("cache_read_input_tokens") or 0) + (u.get("cache_creation_input_tokens") or 0))
    c.set(cached_tokens=u.get("cache_read_input_tokens"), output_tokens=u.get("output_tokens"))
    t = d["type"]
    if t == "message":
        c.set(response_id=d["id"], model=d["model"], finish_reason=d["stop_reason"])
        for b in d["content"]:
            c.add("content", b["text"])
        c.tok(u["output_tokens"])
    elif t == "message_start":
        c.set(response_id=d["message"]["id"], model=d["message"]["model"])
        c.add("role")
    elif t == "content_block_delta":
        c.add("content", d["delta"]["text"])
    elif t == "message_delta":
        c.set(finish_reason=d["delta"]["stop_reason"])
        c.add("usage")
    elif t == "message_stop":
        c.add("done")
    else:
        c.add("role")


def responses(c, d):
    t = d.get("timings") or {}
    if t:
        c.set(prefill_us=round(t["prompt_ms"] * 1000), decode_us=round(t["predicted_ms"] * 1000))
    r = d if d.get("object") == "response" else d.get("response") or {}
    c.set(response_id=r.get("id"), model=r.get("model"))
    u = r.get("usage") or {}
    c.set(prompt_tokens=u.get("input_tokens"), output_tokens=u.get("output_tokens"),
          cached_tokens=(u.get("input_tokens_details") or {}).get("cached_tokens"))
    if d.get("object") == "response":
        c.set(finish_reason=r["status"])
        for o in r["output"]:
            for p in o["content"]:
                c.add("content", p["text"])
        c.tok(u["output_tokens"])
    elif d["type"] == "response.output_text.delta":
        c.add("content", d["delta"])
    elif d["type"] == "response.completed":
        c.set(finish_reason=r["status"])
        c.add("done")
    else:
        c.add("role")


def completion(c, d):
    c.set(model=d.get("model"), output_tokens=d.get("tokens_predicted"), prompt_tokens=d.get("tokens_evaluated"))
    c.tok(d["tokens_predicted"] - c.before)
    c.before = d["tokens_predicted"]
    c.add("content" if d["content"] else "done" if d["stop"] else "role", d["content"])
    if d["stop"]:
        t = d["timings"]
        c.set(finish_reason=d["stop_type"], cached_tokens=t["cache_n"],
              prefill_us=round(t["prompt_ms"] * 1000), decode_us=round(t["predicted_ms"] * 1000))


def frame(c, d):
    if "error" in d and d["error"] and "choices" not in d:
        e = d["error"]
        c.set(error=e.get("type") or str(e.get("code")))
        c.add("error")
    elif "choices" in d:
        chat(c, d)
    elif d.get("object") == "response" or str(d.get("type", "")).startswith("response."):
        responses(c, d)
    elif "type" in d:
        messages(c, d)
    else:
        completion(c, d)


out = {}
for path in sorted(pathlib.Path("transcripts").glob("*.txt")):
    raw = path.read_bytes()
    head, body = raw.split(b"\r\n\r\n", 1)
    text = body.decode()
    c = Count()
    c.before = 0
    frames = re.findall(r"^data: (.*)$", text, re.M) if b"event-stream" in head else [text]
    docs = [json.loads(f) for f in frames if f.strip() != "[DONE]"]
    bearing = [d for d in docs if d.get("choices") and (d["choices"][0].get("delta") or {}).get("content")]
    c.continuous = bool(bearing and bearing[0].get("usage"))
    for f in frames:
        if f.strip() == "[DONE]":
            c.add("done")
        else:
            frame(c, json.loads(f))
    out[path.name] = {"kinds": c.kinds, "bytes": c.bytes, "text": c.text, "tokens": c.tokens, **c.info}
print(json.dumps(out, ensure_ascii=False, indent=1, sort_keys=True))
