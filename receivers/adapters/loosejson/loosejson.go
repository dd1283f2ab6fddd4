// Package loosejson has the scalar types with which adapters read other systems' JSON logs: fields there are
// null, of another type from version to version, or numbers in strings, and one odd field must not cost the
// record.
package loosejson

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/fermata-io/fermata/internal/wire"
)

// Str is a string, or a number written out; anything else is empty.
type Str string

// UnmarshalJSON reads a string or number.
func (s *Str) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		var v string
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		*s = Str(v)
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		*s = Str(b)
	}
	return nil
}

// Bool is true, false or not known.
type Bool struct{ Known, V bool }

// UnmarshalJSON reads a boolean, also as Python or a log format writes it into a string.
func (o *Bool) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true", "1":
		*o = Bool{true, true}
	case "false", "0":
		*o = Bool{true, false}
	}
	return nil
}

// Number is a number, also in a string, or not known.
type Number struct {
	Known bool
	V     float64
}

// UnmarshalJSON reads a number.
func (n *Number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*n = Number{true, v}
	}
	return nil
}

// Count returns a number that counts something.
func (n Number) Count() wire.Opt[int64] {
	if !n.Known || n.V < 0 || n.V > math.MaxUint32 {
		return wire.Opt[int64]{}
	}
	return wire.Some(int64(n.V))
}

// Micros returns a duration given in units of that many µs.
func (n Number) Micros(unit float64) wire.Opt[int64] {
	if !n.Known || n.V < 0 || n.V*unit > 1e15 {
		return wire.Opt[int64]{}
	}
	return wire.Some(int64(math.Round(n.V * unit)))
}

// Headers are looked up without regard to case; what is not an object is empty.
type Headers map[string]Str

// UnmarshalJSON reads an object.
func (h *Headers) UnmarshalJSON(b []byte) error {
	var m map[string]Str
	if json.Unmarshal(b, &m) == nil {
		*h = m
	}
	return nil
}

// Get returns the header of that name.
func (h Headers) Get(name string) string {
	if v, ok := h[name]; ok {
		return string(v)
	}
	for k, v := range h {
		if strings.EqualFold(k, name) {
			return string(v)
		}
	}
	return ""
}

// Object reads an object into v as far as it goes; another form leaves v as it is.
type Object[T any] struct{ V T }

// UnmarshalJSON reads an object.
func (o *Object[T]) UnmarshalJSON(b []byte) error {
	_ = json.Unmarshal(b, &o.V)
	return nil
}

// First returns the first string that is not empty.
func First(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}

// TraceID reads the trace id of a W3C traceparent; empty when there is none.
func TraceID(traceparent string) string {
	p := strings.Split(traceparent, "-")
	if len(p) < 4 || len(p[1]) != 32 || strings.Trim(p[1], "0") == "" || strings.Trim(strings.ToLower(p[1]), "0123456789abcdef") != "" {
		return ""
	}
	return strings.ToLower(p[1])
}

// BareID takes the prefix off an OpenAI-style response id; empty when it has none.
func BareID(id string) string {
	for _, prefix := range [...]string{"chatcmpl-", "cmpl-", "resp_"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok && rest != "" {
			return rest
		}
	}
	return ""
}
