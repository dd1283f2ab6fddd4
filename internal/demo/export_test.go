package demo

import "time"

// Waits returns the waits of a script of n tokens.
func Waits(fault string, n int) []time.Duration {
	s := write(&ask{fault: fault, maxTokens: n}, 0, 1)
	out := make([]time.Duration, len(s.steps))
	for i, st := range s.steps {
		out[i] = st.wait
	}
	return out
}
