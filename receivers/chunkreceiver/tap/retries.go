package tap

import "sync"

// retries numbers the calls of one request: who tries again, as gateways and SDKs do, sends the same id, and a call that
// follows one which failed is the next attempt. An id that comes again after a call that did not fail keeps its number: two
// requests have one name then, which the join finds. The zero value is ready.
type retries struct {
	mu sync.Mutex
	// The number of the last call that failed, of the ids that are remembered: older ones are forgotten half at a time.
	young, old map[retryKey]uint32
}

type retryKey struct{ tenant, id string }

// maxRetried bounds the ids of each half: 8192 of some 200 bytes.
const maxRetried = 8192

// next returns the number of a call that begins.
func (r *retries) next(tenant, id string) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := retryKey{tenant, id}
	n, ok := r.young[k]
	if !ok {
		n = r.old[k]
	}
	return min(n+1, maxAttempt)
}

// ended notes how a call went.
func (r *retries) ended(tenant, id string, attempt uint32, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := retryKey{tenant, id}
	if !failed {
		delete(r.young, k)
		delete(r.old, k)
		return
	}
	if len(r.young) >= maxRetried {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = make(map[retryKey]uint32)
	}
	r.young[k] = max(r.young[k], r.old[k], attempt)
}
