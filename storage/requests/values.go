package requests

import "github.com/fermata-io/fermata/internal/wire"

// text returns nil for a string that is not known.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// opt returns nil for a value that is not known.
func opt(o wire.Opt[int64]) *int64 {
	if !o.OK {
		return nil
	}
	return &o.V
}

func known[T any](v T) *T { return &v }

// status returns nil for an HTTP status that is not known.
func status(v int32) *int32 {
	if v == 0 {
		return nil
	}
	return &v
}

// since returns the offset of an instant from start, nil when the instant is not known.
func since(start, instant int64) *int64 {
	if instant == 0 {
		return nil
	}
	return known(instant - start)
}

// first returns the first string that is not empty.
func first(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// minus returns a − b when both are known.
func minus(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	return known(*a - *b)
}

// plus returns v + d when v is known.
func plus(v *int64, d int64) *int64 {
	if v == nil {
		return nil
	}
	return known(*v + d)
}

// override replaces dst by a value that is known.
func override(dst *wire.Opt[int64], v wire.Opt[int64]) {
	if v.OK {
		*dst = v
	}
}

func overrideText(dst *string, v string) {
	if v != "" {
		*dst = v
	}
}

func target(t wire.Target) Target {
	return Target{Provider: text(t.Provider), Deployment: text(t.Deployment), Model: text(t.Model), ModelVersion: text(t.ModelVersion)}
}

// fill completes t where it is not known.
func fill(t *wire.Target, by wire.Target) {
	t.Provider, t.Deployment = first(t.Provider, by.Provider), first(t.Deployment, by.Deployment)
	t.Model, t.ModelVersion = first(t.Model, by.Model), first(t.ModelVersion, by.ModelVersion)
}

func reported(r wire.Reported) *Reported {
	if r.Definition == "" && !r.TTFTUS.OK && !r.TTFAUS.OK && !r.ITLMeanUS.OK && !r.TPOTUS.OK && !r.E2EUS.OK {
		return nil
	}
	return &Reported{
		Definition: r.Definition, TTFTUS: opt(r.TTFTUS), TTFAUS: opt(r.TTFAUS), ITLMeanUS: opt(r.ITLMeanUS),
		TPOTUS: opt(r.TPOTUS), E2EUS: opt(r.E2EUS),
	}
}
