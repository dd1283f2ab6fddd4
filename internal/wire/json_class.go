package wire

import (
	"strconv"
	"strings"
)

// ClassOther is the class of an error that has a message but no class that could be kept (OpenTelemetry's
// name for it).
const ClassOther = "_OTHER"

// errorWords map words of an error message to a class. The message itself may quote a user and is dropped.
var errorWords = [...]struct{ word, class string }{
	{"timeout", "timeout"},
	{"timed out", "timeout"},
	{"deadline", "timeout"},
	{"rate limit", "rate_limit"},
	{"too many requests", "rate_limit"},
	{"overloaded", "overloaded"},
	{"abort", "aborted"},
	{"cancel", "cancelled"},
	{"reset", "connection_reset"},
	{"refused", "connection_refused"},
	{"closed", "connection_closed"},
	{"failed to fetch", "network"},
	{"network", "network"},
	{"out of memory", "out_of_memory"},
}

// ErrorClass makes a short class from what a system calls an error. A class stays as it is, of a message
// only a known word is kept: messages may quote what a user wrote.
func ErrorClass(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || isClass(s) {
		return s
	}
	low := strings.ToLower(s[:min(len(s), 512)])
	for _, w := range errorWords {
		if strings.Contains(low, w.word) {
			return w.class
		}
	}
	return ClassOther
}

// isClass reports whether s looks like a name and not like a sentence.
func isClass(s string) bool {
	if len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', isDigit(c), c == '_', c == '.', c == '-', c == ':', c == '/':
		default:
			return false
		}
	}
	return true
}

// errorParts are the fields of an error object that can hold its class.
type errorParts struct {
	class, code, message string
}

var errorTable = newJSONTable([]jsonField[errorParts]{
	strField("type", func(e *errorParts) *string { return &e.class }),
	{name: "code", set: func(d *jsonDecoder, e *errorParts) (err error) {
		e.code, err = d.wordOrNumber("code_")
		return err
	}},
	{name: "message", set: func(d *jsonDecoder, e *errorParts) (err error) {
		e.message, err = d.message()
		return err
	}},
})

// errorClass reads an error: a string, or an object with type, code and message.
func (d *jsonDecoder) errorClass() (string, error) {
	switch d.peek() {
	case '"':
		s, err := d.message()
		return ErrorClass(s), err
	case '{':
		var e errorParts
		if err := errorTable.read(d, &e); err != nil {
			return "", err
		}
		for _, s := range [...]string{e.class, e.code, e.message} {
			if s != "" {
				return ErrorClass(s), nil
			}
		}
		return ClassOther, nil
	}
	return "", d.wrongType("a string or an object with type and code")
}

// message reads a string of any length, of which only the beginning is looked at.
func (d *jsonDecoder) message() (string, error) {
	if d.peek() != '"' {
		return "", d.wrongType("a string")
	}
	b, _, err := d.str()
	return strings.ToValidUTF8(string(b[:min(len(b), 512)]), ""), err
}

// wordOrNumber reads a string, or an integer which it writes behind prefix.
func (d *jsonDecoder) wordOrNumber(prefix string) (string, error) {
	c := d.peek()
	if c != '-' && !isDigit(c) {
		return d.string()
	}
	v, ok, err := d.int("a string or an integer", false)
	if !ok {
		return "", err
	}
	return prefix + strconv.FormatInt(v, 10), err
}
