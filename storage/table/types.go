package table

import "fmt"

// Micros is an instant in microseconds since the Unix epoch, stored as DateTime64(6, 'UTC').
type Micros int64

// Opt is a value that may be NULL. The zero value is NULL. It converts to and from wire.Opt of the same type.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some wraps a known value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Scan implements sql.Scanner.
func (o *Opt[T]) Scan(src any) error {
	var none Opt[T]
	switch v := src.(type) {
	case nil:
		*o = none
	case *T:
		*o = none
		if v != nil {
			*o = Opt[T]{V: *v, OK: true}
		}
	case T:
		*o = Opt[T]{V: v, OK: true}
	default:
		return fmt.Errorf("can't scan %T into %T", src, o)
	}
	return nil
}

// Canonical returns o with a zero value when it is NULL, the form that equal values share.
func (o Opt[T]) Canonical() Opt[T] {
	if !o.OK {
		return Opt[T]{}
	}
	return o
}
