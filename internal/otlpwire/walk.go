package otlpwire

import (
	"encoding/binary"
	"errors"
	"sync"
)

// ErrMalformed is returned for bytes that aren't the protobuf message they should be.
var ErrMalformed = errors.New("not a valid OTLP protobuf message")

// ErrTooMany is returned for an item with more than MaxAttrs attributes.
var ErrTooMany = errors.New("an item has more than 4096 attributes")

// Bounds that keep a small hostile body from growing: a view is thirty times the size of an empty field.
const (
	// MaxAttrs is how many attributes one item may have.
	MaxAttrs = 4096
	// MaxEvents is how many events of one span are read; Span.MoreEvents counts the rest.
	MaxEvents = 1 << 18
)

type wireType uint8

const (
	typeVarint  wireType = 0
	typeFixed64 wireType = 1
	typeBytes   wireType = 2
	typeStart   wireType = 3
	typeEnd     wireType = 4
	typeFixed32 wireType = 5
)

// fieldValue is one field's value: u for numbers, b for bytes.
type fieldValue struct {
	u uint64
	b []byte
}

// next reads one field and returns what follows it. Groups are refused: OTLP has none.
func next(b []byte) (num uint64, typ wireType, val fieldValue, rest []byte, err error) {
	var tag uint64
	var n int
	if len(b) > 0 && b[0] < 0x80 {
		tag, n = uint64(b[0]), 1
	} else if tag, n = binary.Uvarint(b); n <= 0 {
		return 0, 0, val, nil, ErrMalformed
	}
	b = b[n:]
	num, typ = tag>>3, wireType(tag&7)
	if num == 0 {
		return 0, 0, val, nil, ErrMalformed
	}
	switch typ {
	case typeVarint:
		if len(b) > 0 && b[0] < 0x80 {
			val.u, n = uint64(b[0]), 1
		} else if val.u, n = binary.Uvarint(b); n <= 0 {
			return 0, 0, val, nil, ErrMalformed
		}
		return num, typ, val, b[n:], nil
	case typeFixed64:
		if len(b) < 8 {
			return 0, 0, val, nil, ErrMalformed
		}
		val.u = binary.LittleEndian.Uint64(b)
		return num, typ, val, b[8:], nil
	case typeBytes:
		var l uint64
		if len(b) > 0 && b[0] < 0x80 {
			l, n = uint64(b[0]), 1
		} else if l, n = binary.Uvarint(b); n <= 0 {
			return 0, 0, val, nil, ErrMalformed
		}
		b = b[n:]
		if l > uint64(len(b)) {
			return 0, 0, val, nil, ErrMalformed
		}
		val.b = b[:l:l]
		return num, typ, val, b[l:], nil
	case typeFixed32:
		if len(b) < 4 {
			return 0, 0, val, nil, ErrMalformed
		}
		val.u = uint64(binary.LittleEndian.Uint32(b))
		return num, typ, val, b[4:], nil
	case typeStart, typeEnd:
	}
	return 0, 0, val, nil, ErrMalformed
}

// Source is where an item came from.
type Source struct {
	Resource     Attrs
	ScopeName    string // a view
	ScopeVersion string // a view
	Scope        Attrs
	// Index counts the resource, from 0: equal numbers in one request mean one resource.
	Index int
}

// Event is one span event. It holds no pointers, since there are very many: its name is an index into
// Span.Names, its attributes are read with Span.EventAttrs.
type Event struct {
	Time uint64 // ns since the epoch
	Name uint32 // index into Span.Names
	attr bool
	off  uint32 // where its bytes lie in the span's
	size uint32
}

// HasAttrs reports whether the event has any attribute.
func (e *Event) HasAttrs() bool { return e.attr }

// Span is one span.
type Span struct {
	TraceID, SpanID, ParentID []byte
	Name                      string // a view
	Kind                      int32  // 1 internal, 2 server, 3 client, 4 producer, 5 consumer
	Start, End                uint64 // ns since the epoch
	Attrs                     Attrs
	Events                    []Event
	Names                     []string // names of events, as views; one name can stand here more than once
	DroppedEvents             uint64   // dropped by the sender's SDK
	MoreEvents                int      // present, but beyond MaxEvents
	StatusCode                int32    // 2: error

	raw []byte
}

// EventAttrs appends the attributes of event i to buf.
func (s *Span) EventAttrs(i int, buf Attrs) (Attrs, error) {
	return repeatedAttrs(buf, s.EventBytes(i), 3)
}

// EventName returns the name of event i, as a view.
func (s *Span) EventName(i int) string { return s.Names[s.Events[i].Name] }

// LogRecord is one log record.
type LogRecord struct {
	Time, Observed  uint64 // ns since the epoch
	SeverityNumber  int32
	Body            Value
	Attrs           Attrs
	TraceID, SpanID []byte
	EventName       string // a view

	raw []byte
}

// Spans calls f for each span of an ExportTraceServiceRequest. The arguments are reused from call to call.
// An error of f ends the walk and is returned.
func Spans(b []byte, f func(*Source, *Span) error) error {
	w := walkers.Get().(*walker)
	defer w.release()
	return scopes(b, &w.src, func(item []byte) error {
		if err := w.span.parse(item); err != nil {
			return err
		}
		return f(&w.src, &w.span)
	})
}

// walker is the state of one walk, kept so that the slices grow once.
type walker struct {
	src  Source
	span Span
	log  LogRecord
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// maxKept bounds the events a pooled walker keeps room for; a request with more gives its room back.
const maxKept = 4096

// release drops every view, so that a pooled walker doesn't hold a request's bytes.
func (w *walker) release() {
	if cap(w.span.Events) > maxKept {
		w.span.Events = nil
	}
	if cap(w.span.Names) > maxKept {
		w.span.Names = nil
	}
	clear(w.span.Names[:cap(w.span.Names)])
	clear(w.span.Attrs[:cap(w.span.Attrs)])
	clear(w.log.Attrs[:cap(w.log.Attrs)])
	clear(w.src.Resource[:cap(w.src.Resource)])
	clear(w.src.Scope[:cap(w.src.Scope)])
	w.span = Span{Attrs: w.span.Attrs[:0], Events: w.span.Events[:0], Names: w.span.Names[:0]}
	w.log = LogRecord{Attrs: w.log.Attrs[:0]}
	w.src = Source{Resource: w.src.Resource[:0], Scope: w.src.Scope[:0]}
	walkers.Put(w)
}

// LogRecords calls f for each record of an ExportLogsServiceRequest. The arguments are reused from call to
// call. An error of f ends the walk and is returned. First, where given, is asked with the record's bytes,
// which stay valid as long as the request; a record that it takes is not parsed.
func LogRecords(b []byte, first func(*Source, []byte) bool, f func(*Source, *LogRecord) error) error {
	w := walkers.Get().(*walker)
	defer w.release()
	return scopes(b, &w.src, func(item []byte) error {
		if first != nil && first(&w.src, item) {
			return nil
		}
		if err := w.log.Parse(item); err != nil {
			return err
		}
		return f(&w.src, &w.log)
	})
}

// scopes walks the two outer levels, which traces and logs share: field 1 of the request holds the
// resources, field 1 of those the resource and field 2 the scopes, field 1 of those the scope and field 2
// the items. Resource and scope may follow their items on the wire, so they are looked for first.
func scopes(b []byte, src *Source, f func(item []byte) error) error {
	src.Index = -1
	return Each(b, 1, func(rs []byte) error {
		src.Index++
		src.Resource = src.Resource[:0]
		if err := Each(rs, 1, func(r []byte) (err error) {
			src.Resource, err = repeatedAttrs(src.Resource, r, 1)
			return err
		}); err != nil {
			return err
		}
		return Each(rs, 2, func(ss []byte) error {
			src.Scope, src.ScopeName, src.ScopeVersion = src.Scope[:0], "", ""
			if err := Each(ss, 1, src.parseScope); err != nil {
				return err
			}
			return Each(ss, 2, f)
		})
	})
}

func (s *Source) parseScope(b []byte) error {
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		if typ != typeBytes {
			continue
		}
		switch num {
		case 1:
			s.ScopeName = view(val.b)
		case 2:
			s.ScopeVersion = view(val.b)
		case 3:
			if s.Scope, err = appendAttr(s.Scope, val.b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Each calls f for every length-delimited field of a message with that number; an error of f ends it and is returned.
func Each(b []byte, field uint64, f func([]byte) error) error {
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		if num == field && typ == typeBytes {
			if err := f(val.b); err != nil {
				return err
			}
		}
	}
	return nil
}

func repeatedAttrs(a Attrs, b []byte, field uint64) (Attrs, error) {
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return a, err
		}
		b = rest
		if num == field && typ == typeBytes {
			if a, err = appendAttr(a, val.b); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

func (s *Span) parse(b []byte) error {
	*s = Span{Attrs: s.Attrs[:0], Events: s.Events[:0], Names: s.Names[:0], raw: b}
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case num == 11 && typ == typeBytes && len(s.Events) >= MaxEvents:
			s.MoreEvents++
		case num == 11 && typ == typeBytes:
			if err = s.appendEvent(val.b, len(s.raw)-len(rest)-len(val.b)); err != nil {
				return err
			}
		case num == 9 && typ == typeBytes:
			if s.Attrs, err = appendAttr(s.Attrs, val.b); err != nil {
				return err
			}
		case num == 1 && typ == typeBytes:
			s.TraceID = val.b
		case num == 2 && typ == typeBytes:
			s.SpanID = val.b
		case num == 4 && typ == typeBytes:
			s.ParentID = val.b
		case num == 5 && typ == typeBytes:
			s.Name = view(val.b)
		case num == 6 && typ == typeVarint:
			s.Kind = int32(val.u) //nolint:gosec // an enum
		case num == 7 && typ == typeFixed64:
			s.Start = val.u
		case num == 8 && typ == typeFixed64:
			s.End = val.u
		case num == 12 && typ == typeVarint:
			s.DroppedEvents = val.u
		case num == 15 && typ == typeBytes:
			if s.StatusCode, err = statusCode(val.b); err != nil {
				return err
			}
		}
	}
	return nil
}

func statusCode(b []byte) (code int32, err error) {
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return 0, err
		}
		b = rest
		if num == 3 && typ == typeVarint {
			code = int32(val.u) //nolint:gosec // an enum
		}
	}
	return code, nil
}

// appendEvent reads the event b, which lies at off in the span's bytes.
func (s *Span) appendEvent(b []byte, off int) error {
	ev := Event{off: uint32(off), size: uint32(len(b))} //nolint:gosec // requests are smaller than 4 GiB
	var name []byte
	// The usual encodings, straight: a fixed64 time and a short name; Collectors write the name first.
	switch {
	case len(b) > 11 && b[0] == 1<<3|byte(typeFixed64) && b[9] == 2<<3|byte(typeBytes) && b[10] < 0x80 && int(b[10]) <= len(b)-11:
		ev.Time = binary.LittleEndian.Uint64(b[1:])
		end := 11 + int(b[10])
		name, b = b[11:end], b[end:]
	case len(b) > 11 && b[0] == 2<<3|byte(typeBytes) && b[1] < 0x80 && len(b) == 11+int(b[1]) && b[len(b)-9] == 1<<3|byte(typeFixed64):
		ev.Time = binary.LittleEndian.Uint64(b[len(b)-8:])
		name, b = b[2:len(b)-9], nil
	}
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case num == 1 && typ == typeFixed64:
			ev.Time = val.u
		case num == 2 && typ == typeBytes:
			name = val.b
		case num == 3 && typ == typeBytes:
			ev.attr = true
		}
	}
	ev.Name = s.name(name)
	s.Events = append(s.Events, ev)
	return nil
}

// name finds a name among the last few, or adds it: most events of a span have the same one.
func (s *Span) name(name []byte) uint32 {
	const look = 4
	for i := len(s.Names) - 1; i >= 0 && i >= len(s.Names)-look; i-- {
		if s.Names[i] == string(name) {
			return uint32(i) //nolint:gosec // bounded by MaxEvents
		}
	}
	s.Names = append(s.Names, view(name))
	return uint32(len(s.Names) - 1) //nolint:gosec // bounded by MaxEvents
}

// Parse reads the bytes of one record; r's room is used again. It is valid as long as the bytes.
func (r *LogRecord) Parse(b []byte) error {
	*r = LogRecord{Attrs: r.Attrs[:0], raw: b}
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case num == 6 && typ == typeBytes:
			if r.Attrs, err = appendAttr(r.Attrs, val.b); err != nil {
				return err
			}
		case num == 1 && typ == typeFixed64:
			r.Time = val.u
		case num == 11 && typ == typeFixed64:
			r.Observed = val.u
		case num == 2 && typ == typeVarint:
			r.SeverityNumber = int32(val.u) //nolint:gosec // an enum
		case num == 5 && typ == typeBytes:
			if r.Body, err = parseValue(val.b); err != nil {
				return err
			}
		case num == 9 && typ == typeBytes:
			r.TraceID = val.b
		case num == 10 && typ == typeBytes:
			r.SpanID = val.b
		case num == 12 && typ == typeBytes:
			r.EventName = view(val.b)
		}
	}
	return nil
}
