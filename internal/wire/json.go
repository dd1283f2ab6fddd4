package wire

import (
	"time"
)

// DecodeOptions say how a body is read. Start from NewDefaultDecodeOptions.
type DecodeOptions struct {
	// Limits bound each record.
	Limits Limits
	// Now is the receiver's clock. When set, every record is validated after it was read; the zero time
	// leaves that to the caller.
	Now time.Time
	// NDJSON reads one item from each line, whatever the line holds. Without it the body is one value, an
	// array of items, or any number of these one after the other, and lines only matter to find the next item
	// after a broken one.
	NDJSON bool
	// MaxItems bounds the items of one body.
	MaxItems int
	// KeepText keeps the text of chunks in Chunks.Text. Without it text is only measured.
	KeepText bool
}

// NewDefaultDecodeOptions returns the documented defaults: default limits, 10 000 items, no text.
func NewDefaultDecodeOptions() DecodeOptions {
	return DecodeOptions{Limits: NewDefaultLimits(), MaxItems: 10_000}
}

// ItemError is one item of a body that was refused.
type ItemError struct {
	// Index is the item's place in the body, from 0: array element, line, or stream of a beacon.
	Index int
	// RequestID is the item's request id, where that could be read and is well formed.
	RequestID string
	// Err joins one FieldError for each problem.
	Err error
}

func (e *ItemError) Error() string { return e.Err.Error() }

func (e *ItemError) Unwrap() error { return e.Err }

// refused makes the ItemError of a problem; nil when there is none.
func refused(index int, requestID string, problem error) *ItemError {
	if problem == nil {
		return nil
	}
	return &ItemError{Index: index, RequestID: goodID(requestID), Err: problem}
}

// DecodeStats counts what a body held besides its records.
type DecodeStats struct {
	Items   int // items seen, good and bad
	Unknown int // fields that were ignored
}

// EachItem cuts a body into its items without reading them, for bodies that may hold other systems'
// records: yield gets each item's text, valid JSON, or what is wrong with it. raw is part of body.
func EachItem(body []byte, opt DecodeOptions, yield func(index int, raw []byte, err *ItemError)) DecodeStats {
	d := &jsonDecoder{jsonReader: jsonReader{b: body}, opt: opt}
	item := func() error {
		if d.peek() != '{' {
			d.fail("is not an object")
		}
		start := d.i
		if err := d.skip(); err != nil {
			return err
		}
		index := d.stats.Items
		d.stats.Items++
		if e := refused(index, "", d.joined()); e != nil {
			yield(index, nil, e)
			return nil
		}
		yield(index, d.b[start:d.i], nil)
		return nil
	}
	d.items(item, func(err error, _ bool) {
		e := &ItemError{Index: d.stats.Items, Err: err}
		d.stats.Items++
		yield(e.Index, nil, e)
	})
	return d.stats
}
