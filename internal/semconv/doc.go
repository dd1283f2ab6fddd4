// Package semconv names the attributes and events that senders of GenAI telemetry use, old and new.
//
// GenAI conventions are at Development stability and still move, so every quantity has a list of keys in
// order of preference: Fermata's own, the current OpenTelemetry name, then older and vendors' names. Sources
// stand beside each list. A key belongs to one quantity only; a test holds it.
//
// Sources: open-telemetry/semantic-conventions-genai (current names); OpenTelemetry semantic-conventions
// 1.27–1.36 (gen_ai.system, prompt_tokens, completion_tokens); vLLM vllm/tracing/utils.py (gen_ai.latency.*,
// gen_ai.request.id); traceloop/openllmetry semconv-ai (llm.*); Arize OpenInference (llm.token_count.*,
// llm.model_name); Vercel AI SDK (ai.*); LiteLLM opentelemetry integration (litellm.*, llm.is_streaming);
// alibaba/loongsuite-semantic-conventions-genai PR 17 (per-token arrays and token events).
package semconv
