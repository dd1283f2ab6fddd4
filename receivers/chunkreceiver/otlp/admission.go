package otlp

import "sync/atomic"

// admission bounds what is in work at one time, so that overload is answered and not collected.
type admission struct {
	maxRequests, maxBytes int64
	requests, bytes       atomic.Int64
}

// enter takes one request of that size in; the caller must leave with the same size. False: too much is in
// work.
func (a *admission) enter(size int64) bool {
	requests, bytes := a.requests.Add(1), a.bytes.Add(size)
	if requests > a.maxRequests || bytes > a.maxBytes {
		a.leave(size)
		return false
	}
	return true
}

func (a *admission) leave(size int64) {
	a.requests.Add(-1)
	a.bytes.Add(-size)
}
