package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// strictJSON replaces the bare words NaN, Infinity and -Infinity, which Python's json writes, with null, in place where
// there are any.
func strictJSON(doc []byte) []byte {
	if !bytes.Contains(doc, []byte("NaN")) && !bytes.Contains(doc, []byte("Infinity")) {
		return doc
	}
	out := make([]byte, 0, len(doc))
	inString := false
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		if inString {
			out = append(out, c)
			switch {
			case c == '\\' && i+1 < len(doc):
				i++
				out = append(out, doc[i])
			case c == '"':
				inString = false
			}
			continue
		}
		rest := doc[i:]
		switch {
		case c == '"':
			inString = true
			out = append(out, c)
		case bytes.HasPrefix(rest, []byte("-Infinity")):
			out = append(out, "null"...)
			i += len("-Infinity") - 1
		case bytes.HasPrefix(rest, []byte("Infinity")):
			out = append(out, "null"...)
			i += len("Infinity") - 1
		case bytes.HasPrefix(rest, []byte("NaN")):
			out = append(out, "null"...)
			i += len("NaN") - 1
		default:
			out = append(out, c)
		}
	}
	return out
}

// documents decodes each of the JSON values that follow one another in doc into a new T.
func documents[T any](doc []byte, f func(*T) error) error {
	dec := json.NewDecoder(bytes.NewReader(strictJSON(doc)))
	for n := 1; ; n++ {
		v := new(T)
		err := dec.Decode(v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			var te *json.UnmarshalTypeError
			if errors.As(err, &te) {
				return fmt.Errorf("document %d: %s is a %s, want %s", n, te.Field, te.Value, te.Type)
			}
			return fmt.Errorf("document %d: %w", n, err)
		}
		if err := f(v); err != nil {
			return err
		}
	}
}

// micros turns a time span in the given unit (µs per unit) into whole µs. Spans that are no number, negative or longer
// than a day are not known.
func micros(v *float64, unit float64) wire.Opt[int64] {
	if v == nil || !(*v >= 0) || *v*unit > float64(24*time.Hour/time.Microsecond) {
		return wire.Opt[int64]{}
	}
	return wire.Some(int64(math.Round(*v * unit)))
}

// epoch turns seconds since 1970 into µs; 0 when they are none.
func epoch(v *float64) int64 {
	if v == nil || *v < 1.4e9 || *v > 4.1e9 {
		return 0
	}
	return int64(math.Round(*v * 1e6))
}

// whole reads a count.
func whole(v *float64) wire.Opt[int64] {
	if v == nil || !(*v >= 0) || *v > math.MaxUint32 {
		return wire.Opt[int64]{}
	}
	return wire.Some(int64(math.Round(*v)))
}

// errorClass reduces the text of an error, often a whole traceback, to its class: messages may quote a user and are not
// kept.
func errorClass(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = strings.TrimSpace(s[i+1:]) // Python puts the exception last
	}
	for code := int64(400); code < 600; code++ {
		if text := http.StatusText(int(code)); text != "" && s == text {
			return httpError(code)
		}
	}
	head, _, _ := strings.Cut(s, ":")
	if i := strings.LastIndexByte(head, '.'); i >= 0 {
		head = head[i+1:]
	}
	if c := wire.ErrorClass(head); c == head && c != "" {
		return c
	}
	if c := wire.ErrorClass(s); c != "" {
		return c
	}
	return wire.ClassOther
}

// httpError names the class of an HTTP status.
func httpError(code int64) string { return fmt.Sprintf("http_%d", code) }
