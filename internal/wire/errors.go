package wire

import "fmt"

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
