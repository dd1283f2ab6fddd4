package wire

import (
	"errors"
	"fmt"
)

// FieldError names the field of a record that can't be taken, and why.
type FieldError struct {
	Field  string // JSON path, for instance "chunks.t[17]"
	Reason string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Fieldf makes a FieldError.
func Fieldf(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// FieldErrors lists the problems that an error joins, in their order.
func FieldErrors(err error) []*FieldError {
	var out []*FieldError
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			out = append(out, FieldErrors(e)...)
		}
		return out
	}
	var f *FieldError
	if errors.As(err, &f) {
		out = append(out, f)
	}
	return out
}
