package otlp

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/zeebo/xxh3"
)

// starts remembers when streams began, so that parts of one stream that come in several requests agree.
// Keys are kept as 128-bit hashes: a collision would only shift the start of one of two streams.
type starts struct {
	mu  sync.Mutex
	by  *lru.Cache[xxh3.Uint128, start]
	ttl int64
	now func() time.Time
}

type start struct {
	at     int64 // µs, on the sender's clock
	seenAt int64 // µs, on ours
}

func newStarts(most int, ttl time.Duration) *starts {
	by, err := lru.New[xxh3.Uint128, start](most)
	if err != nil { // only for a size below 1, which Check refuses
		by, _ = lru.New[xxh3.Uint128, start](1)
	}
	return &starts{by: by, ttl: ttl.Microseconds(), now: time.Now}
}

// StartOf implements genai.Starts.
func (s *starts) StartOf(key string, first int64) int64 {
	h, now := xxh3.HashString128(key), s.now().UnixMicro()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.by.Get(h); ok && now-e.seenAt <= s.ttl && e.at <= first {
		return e.at
	}
	s.by.Add(h, start{at: first, seenAt: now})
	return first
}

func (s *starts) close() { s.by.Purge() }
