package faro

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/loosejson"
)

// meta is what Faro says of the page; odd forms of it cost nothing. The user is not read.
type meta struct {
	Session loosejson.Object[struct {
		ID loosejson.Str `json:"id"`
	}] `json:"session"`
	Page loosejson.Object[struct {
		URL loosejson.Str `json:"url"`
		ID  loosejson.Str `json:"id"`
	}] `json:"page"`
	App loosejson.Object[struct {
		Name    loosejson.Str `json:"name"`
		Release loosejson.Str `json:"release"`
		Version loosejson.Str `json:"version"`
	}] `json:"app"`
	OS loosejson.Object[struct {
		Name loosejson.Str `json:"name"`
	}] `json:"os"`
	Browser loosejson.Object[struct {
		Name    loosejson.Str  `json:"name"`
		Version loosejson.Str  `json:"version"`
		OS      loosejson.Str  `json:"os"`
		Mobile  loosejson.Bool `json:"mobile"`
	}] `json:"browser"`
}

// signal is an event or a measurement.
type signal struct {
	Name       string          `json:"name"` // of an event
	Type       string          `json:"type"` // of a measurement
	Attributes json.RawMessage `json:"attributes"`
	Context    json.RawMessage `json:"context"`
	Values     json.RawMessage `json:"values"`
	Trace      loosejson.Object[struct {
		TraceID loosejson.Str `json:"trace_id"`
	}] `json:"trace"`
}

// body is a request's body once it was read.
type body struct {
	meta    meta
	streams []found
	ignored [SignalCount]int
	more    int // streams beyond the limit
}

// found is a signal that carries a stream.
type found struct {
	at string // events[3]
	signal
	err error
}

// reader reads a body value by value: what it holds of it at one time is one signal.
type reader struct {
	*json.Decoder
	raw  json.RawMessage
	most int
	body
}

var errNoObject = errors.New("is not an object of the Faro SDK; want {\"meta\": …, \"events\": […], …}")

// read reads the whole body.
func (r *reader) read() error {
	if t, err := r.Token(); err != nil || t != json.Delim('{') {
		return errNoObject
	}
	for r.More() {
		t, err := r.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		switch name {
		case "meta":
			if err = r.Decode(&r.raw); err == nil {
				_ = json.Unmarshal(r.raw, &r.meta)
			}
		case "events":
			err = r.each(name, Events)
		case "measurements":
			err = r.each(name, Measurements)
		case "logs":
			err = r.each(name, Logs)
		case "exceptions":
			err = r.each(name, Exceptions)
		case "traces":
			if err = r.Decode(&r.raw); err == nil {
				r.ignored[Spans] += spans(r.raw)
			}
		default:
			err = r.Decode(&r.raw)
		}
		if err != nil {
			return err
		}
	}
	if _, err := r.Token(); err != nil {
		return err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return errors.New("goes on after the object")
	}
	return nil
}

// each reads the signals of one kind.
func (r *reader) each(name string, kind Signal) error {
	if err := r.Decode(&r.raw); err != nil {
		return err
	}
	list := r.raw
	if string(list) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return wire.Fieldf(name, "is no array")
	}
	var one json.RawMessage
	for i := 0; d.More(); i++ {
		if err := d.Decode(&one); err != nil {
			return err
		}
		if kind > Measurements || !bytes.Contains(one, []byte(StreamName)) {
			r.ignored[kind]++
			continue
		}
		r.stream(name, i, kind, one)
	}
	return nil
}

// spans counts the spans of OTLP JSON.
func spans(raw []byte) (n int) {
	var t struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{} `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	_ = json.Unmarshal(raw, &t) // what can't be counted is ignored all the same
	for _, r := range t.ResourceSpans {
		for _, s := range r.ScopeSpans {
			n += len(s.Spans)
		}
	}
	return n
}
