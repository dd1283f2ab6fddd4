// Package demo is a scripted model: an HTTP server that answers like an LLM server, in OpenAI's, Anthropic's and
// Ollama's protocols, with prose from a small generator, at the pace of a real model, and with faults on request.
// It is what `fermata up` serves at the tap's /demo/, so that somebody without a model sees a stream at once.
//
// The same request gives the same text at the same pace. A fault is chosen by the model's name (demo-stall), by
// the JSON field "fault" or by the header X-Demo-Fault; docs/tap.md lists them.
package demo
