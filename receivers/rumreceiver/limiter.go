package rumreceiver

import (
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// bucket is a token bucket; nil lets everything through.
type bucket struct{ *rate.Limiter }

func newBucket(r Rate) *bucket {
	if !r.limited() {
		return nil
	}
	return &bucket{rate.NewLimiter(rate.Limit(r.PerSecond), r.burst())}
}

// take takes a token; without one it says when there will be.
func (b *bucket) take(now time.Time) (wait time.Duration, ok bool) {
	if b == nil || b.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - b.TokensAt(now)
	return max(time.Second, time.Duration(missing/float64(b.Limit())*float64(time.Second))), false
}

// addresses has a bucket for each client address that was heard of lately. Who is forgotten starts with a full bucket, so
// a sender with more addresses than are remembered is bounded by its key only.
type addresses struct {
	rate Rate
	mu   sync.Mutex
	lru  *simplelru.LRU[netip.Addr, *bucket]
}

// newAddresses makes buckets for at most most addresses; nil, which limits nothing, when there is no limit.
func newAddresses(r Rate, most int) (*addresses, error) {
	if !r.limited() {
		return nil, nil
	}
	l, err := simplelru.NewLRU[netip.Addr, *bucket](most, nil)
	return &addresses{rate: r, lru: l}, err
}

func (a *addresses) take(ip netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	if a == nil {
		return 0, true
	}
	ip = network(ip)
	a.mu.Lock()
	b, known := a.lru.Get(ip)
	if !known {
		b = newBucket(a.rate)
		a.lru.Add(ip, b)
	}
	a.mu.Unlock()
	return b.take(now)
}

// network is what one subscriber has: an IPv4 address, or an IPv6 /64.
func network(ip netip.Addr) netip.Addr {
	if ip.Is4() || !ip.IsValid() {
		return ip
	}
	p, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return p.Addr()
}
