package wire

// Opt is a value that may be absent: a queue time of 0 µs and an unknown queue time differ.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some wraps a known value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Or returns the value, or def when absent.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}
