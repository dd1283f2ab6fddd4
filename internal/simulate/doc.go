// Package simulate makes labelled traffic of streamed LLM answers: what engines, gateways and pages would report, and what
// really went wrong in it.
//
// It is a discrete-event model, a function of its [Config] alone: the same seed and start give the same records, byte for byte.
// Engines batch continuously (a step takes longer the more streams decode, and the prefill of newcomers delays it), gateways queue,
// proxies hold bytes back, networks jitter, pages render once a frame, clocks are wrong. Faults are caused at a chosen share of
// requests; everything else happens by itself.
//
// # Truth
//
// A [Truth] comes from what was caused, checked against the times that came out of it: the definitions of findings in
// docs/detection.md are applied to the true times of each stream by a naive oracle of this package, which shares no code with the
// detectors. A pause that was caused and ended just below a floor is no stall; a pause that nobody caused and that crosses the rule
// is one.
package simulate
