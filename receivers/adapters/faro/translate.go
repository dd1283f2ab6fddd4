package faro

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fermata-io/fermata/internal/wire"
)

// StreamName is the event's name, or the measurement's type, under which a page pushes a streamed answer.
const StreamName = "fermata.stream"

// Signal is a kind of thing in a body.
type Signal int

// The kinds.
const (
	Events Signal = iota
	Measurements
	Logs
	Exceptions
	Spans
	SignalCount
)

// String returns the kind in the singular, as counters name it.
func (s Signal) String() string {
	return [...]string{"event", "measurement", "log", "exception", "span"}[s]
}

// Options say what stands outside of a body.
type Options struct {
	// SessionID is that of the header X-Faro-Session-Id, for bodies that name none.
	SessionID string
	// MaxItems bounds the streams of one body; what is beyond is one error. It must be at least 1.
	MaxItems int
}

// Item is a signal that carries a stream.
type Item struct {
	// Body is the stream as one item of POST /v1/rum. It is valid JSON and may yet be refused there.
	Body []byte
	// Err says what is wrong with the signal, by a path in the body of Faro; then there is no Body.
	Err error
}

// Result is what a body holds.
type Result struct {
	Items []Item
	// Ignored counts the signals that carry no stream.
	Ignored [SignalCount]int
}

// Read reads a body. The error is a wire.FieldError about the body as a whole; what came before it is in the result.
func Read(b []byte, o Options) (Result, error) {
	r := &reader{Decoder: json.NewDecoder(bytes.NewReader(b)), most: o.MaxItems}
	err := r.read()
	out := Result{Ignored: r.ignored}
	common := r.meta.fields(o.SessionID)
	for i := range r.streams {
		f := &r.streams[i]
		if f.err != nil {
			out.Items = append(out.Items, Item{Err: f.err})
			continue
		}
		item, err := f.item(common)
		out.Items = append(out.Items, Item{Body: item, Err: err})
	}
	if r.more > 0 {
		out.Items = append(out.Items, Item{Err: wire.Fieldf("(body)", "holds more than %d streams; send them in several bodies", o.MaxItems)})
	}
	if err == nil {
		return out, nil
	}
	if len(wire.FieldErrors(err)) > 0 {
		return out, err
	}
	if errors.Is(err, errNoObject) {
		return out, wire.Fieldf("(body)", "%s", err.Error())
	}
	return out, wire.Fieldf("(body)", "is not valid JSON, or is cut")
}

// stream takes a signal that names a stream somewhere.
func (r *reader) stream(list string, i int, kind Signal, raw []byte) {
	f := found{at: list + "[" + strconv.Itoa(i) + "]"}
	if err := json.Unmarshal(raw, &f.signal); err != nil {
		f.err = wire.Fieldf(f.at, "is not an object as Faro writes it")
	} else if (kind == Events && f.Name != StreamName) || (kind == Measurements && f.Type != StreamName) {
		r.ignored[kind]++
		return
	}
	if len(r.streams) >= r.most {
		r.more++
		return
	}
	r.streams = append(r.streams, f)
}

// fields are the fields of a stream, as JSON.
type fields map[string]json.RawMessage

func (f fields) text(name, value string) {
	if value != "" {
		b, _ := json.Marshal(value) // a string: can't fail
		f[name] = b
	}
}

// fields takes over what Faro says of the page.
func (m *meta) fields(session string) fields {
	f := fields{}
	if id := string(m.Session.V.ID); id != "" {
		session = id
	}
	f.text("session_id", session)
	page := string(m.Page.V.URL)
	if page == "" {
		page = string(m.Page.V.ID)
	}
	f.text("page", page)
	f.text("app", string(m.App.V.Name))
	release := string(m.App.V.Release)
	if release == "" {
		release = string(m.App.V.Version)
	}
	f.text("release", release)
	b := &m.Browser.V
	if b.Name != "" && b.Name != "unknown" {
		major, _, _ := strings.Cut(string(b.Version), ".")
		if _, err := strconv.Atoi(major); err != nil {
			major = ""
		}
		f.text("browser", strings.TrimSpace(string(b.Name)+" "+major))
	}
	name := string(m.OS.V.Name)
	if name == "" {
		name = system(string(b.OS)) // as older versions write it
	}
	f.text("os", name)
	switch {
	case b.Mobile.V:
		f.text("device", "mobile")
	case b.Mobile.Known:
		f.text("device", "desktop")
	}
	return f
}

// system takes the version off the name of an operating system.
func system(s string) string {
	name, version, ok := cutLast(s)
	if ok && (version == "unknown" || version[0] >= '0' && version[0] <= '9') {
		s = name
	}
	if s == "unknown" {
		return ""
	}
	return s
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 || i+1 == len(s) {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// structured are the fields of a stream that are no strings: in Faro's attributes, which are strings, they stand as JSON.
var structured = map[string]bool{
	"aborted_at": true, "aliases": true, "attempt": true, "beacon_seq": true, "bytes_total": true, "clock": true,
	"closed_at": true, "connection": true, "dom": true, "done_at": true, "final": true, "first_feedback_at": true,
	"first_meaningful_paint_at": true, "headers_at": true, "long_frames": true, "lost_beacons": true, "paint": true,
	"reconnects": true, "recv": true, "request_sent_at": true, "retractions": true, "sample_weight": true, "seq": true,
	"submit_at": true, "visibility": true,
}

// item makes the stream's JSON.
func (f *found) item(common fields) ([]byte, error) {
	out := maps.Clone(common)
	out.text("trace_id", string(f.Trace.V.TraceID))
	for _, part := range [...]struct {
		name string
		raw  json.RawMessage
	}{{"attributes", f.Attributes}, {"context", f.Context}, {"values", f.Values}} {
		if err := out.take(f.at+"."+part.name, part.raw); err != nil {
			return nil, err
		}
	}
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(out)) {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(name)
		b = append(append(append(b, key...), ':'), out[name]...)
	}
	return append(b, '}'), nil
}

// take takes attributes over: strings as they are, or as JSON where the field is no string.
func (f fields) take(at string, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return wire.Fieldf(at, "is no object")
	}
	for name, v := range all {
		if name == "streams" { // an envelope is no stream
			return wire.Fieldf(at+".streams", "can't stand here; push each stream on its own")
		}
		if v[0] == '"' && structured[name] {
			var text string
			if err := json.Unmarshal(v, &text); err != nil {
				return wire.Fieldf(at+"."+name, "is no string")
			}
			if v = json.RawMessage(text); !json.Valid(v) {
				return wire.Fieldf(at+"."+name, "is not JSON; write it with JSON.stringify")
			}
		}
		f[name] = v
	}
	return nil
}
