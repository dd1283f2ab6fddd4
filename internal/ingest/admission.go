package ingest

import "sync/atomic"

// admission bounds the requests and bytes that an endpoint holds at one time. It refuses at once instead
// of queueing: a sender that waits holds its body in memory too.
type admission struct {
	maxRequests, maxBytes int64
	requests, bytes       atomic.Int64
}

// enter admits a request; leave must follow.
func (a *admission) enter() bool {
	if a.requests.Add(1) > a.maxRequests {
		a.requests.Add(-1)
		return false
	}
	return true
}

func (a *admission) leave() { a.requests.Add(-1) }

// grow reserves n more bytes.
func (a *admission) grow(n int64) bool {
	if a.bytes.Add(n) > a.maxBytes {
		a.bytes.Add(-n)
		return false
	}
	return true
}

func (a *admission) shrink(n int64) { a.bytes.Add(-n) }
