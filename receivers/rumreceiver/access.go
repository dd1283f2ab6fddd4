package rumreceiver

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/ingest"
)

// writeKey is a configured key.
type writeKey struct {
	tenant, app string
	origins     *origins
	bucket      *bucket
}

// guard decides who may send. It stands in front of both endpoints.
type guard struct {
	keys    map[[sha256.Size]byte]*writeKey // by the key's hash: looking one up takes as long whatever was guessed
	open    *writeKey                       // what a request without a key is, where there are no keys
	origins *origins                        // all that any key allows, for preflights
	ips     *addresses
	proxies proxies
	agents  *agents
	tel     *telemetry
}

func newGuard(c *Config, tel *telemetry) (*guard, error) {
	g := &guard{keys: map[[sha256.Size]byte]*writeKey{}, proxies: newProxies(c.TrustedProxies), tel: tel}
	var err error
	if g.ips, err = newAddresses(c.RateLimit.PerIP, c.RateLimit.MaxIPs); err != nil {
		return nil, err
	}
	if g.agents, err = newAgents(c.Bots); err != nil {
		return nil, err
	}
	if len(c.Keys) == 0 {
		g.open = &writeKey{origins: newOrigins(c.AllowedOrigins), bucket: newBucket(c.RateLimit.PerKey)}
		g.origins = g.open.origins
		return g, nil
	}
	g.origins = &origins{exact: map[string]bool{}}
	for _, k := range c.Keys {
		list, rate := k.AllowedOrigins, k.RateLimit
		if len(list) == 0 {
			list = c.AllowedOrigins
		}
		if !rate.limited() {
			rate = c.RateLimit.PerKey
		}
		w := &writeKey{tenant: k.Tenant, app: k.App, origins: newOrigins(list), bucket: newBucket(rate)}
		if w.tenant == "" {
			w.tenant = defaultTenant
		}
		g.keys[sha256.Sum256([]byte(k.Key))] = w
		g.origins.add(w.origins)
	}
	return g, nil
}

// sender is what the guard found out about a request.
type sender struct {
	key   *writeKey
	ip    netip.Addr
	agent agent
}

type senderKey struct{}

// senderOf returns what the guard found out.
func senderOf(r *http.Request) *sender {
	s, _ := r.Context().Value(senderKey{}).(*sender)
	if s == nil {
		return &sender{key: &writeKey{}}
	}
	return s
}

// What scripts may send and read across origins.
const (
	corsHeaders = "Content-Type, Content-Encoding, X-API-Key, X-Faro-Session-Id, Idempotency-Key"
	corsExpose  = "Retry-After"
	corsMaxAge  = "7200" // seconds, the most that Chromium takes
)

// protect puts the guard in front of an endpoint.
func (g *guard) protect(next http.Handler, retryAfter time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		from := r.Header.Get("Origin")
		if from != "" {
			switch {
			case g.origins.all:
				h.Set("Access-Control-Allow-Origin", "*")
				h.Set("Access-Control-Expose-Headers", corsExpose)
			case g.origins.allows(from):
				h.Set("Access-Control-Allow-Origin", from)
				h.Set("Access-Control-Expose-Headers", corsExpose)
			}
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			g.preflight(w, r, from)
			return
		}
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r) // says which methods there are
			return
		}
		s := &sender{ip: g.proxies.client(r), agent: g.agents.read(r.UserAgent())}
		if no := g.admit(r, s, from); no != nil {
			g.tel.refuse(r.Context(), no.reason)
			if no.status == http.StatusNoContent {
				w.WriteHeader(no.status)
				return
			}
			if no.wait == 0 {
				no.wait = retryAfter
			}
			ingest.WriteError(w, no.status, no.field, no.text, no.wait)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), senderKey{}, s)))
	})
}

// preflight answers what browsers ask before they send anything but a simple request. It can't carry the key in a header,
// so it is allowed to pages that any key allows; the request itself is looked at more closely.
func (g *guard) preflight(w http.ResponseWriter, r *http.Request, from string) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	if from == "" || h.Get("Access-Control-Allow-Origin") == "" {
		g.tel.refuse(r.Context(), refusedOrigin)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	h.Set("Access-Control-Allow-Methods", http.MethodPost)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
}

// A denial is a request that is not let through.
type denial struct {
	status int
	reason string // for counting
	field  string
	text   string
	wait   time.Duration
}

// admit looks at what costs least and at what many share first, so that a flood of forged requests costs an app nothing of
// its own rate.
func (g *guard) admit(r *http.Request, s *sender, from string) *denial {
	now := time.Now()
	if wait, ok := g.ips.take(s.ip, now); !ok {
		return &denial{http.StatusTooManyRequests, refusedIP, "(address)", "sends more than rate_limit::per_ip", wait}
	}
	if s.key = g.open; s.key == nil {
		given := givenKey(r)
		if given == "" {
			return &denial{http.StatusUnauthorized, refusedNoKey, "key", "is missing; send the app's write key as ?key= or X-API-Key", 0}
		}
		if s.key = g.keys[sha256.Sum256([]byte(given))]; s.key == nil {
			return &denial{http.StatusUnauthorized, refusedKey, "key", "is not known", 0}
		}
	}
	if !s.key.origins.allows(from) {
		if from == "" {
			return &denial{http.StatusForbidden, refusedOrigin, "Origin", "is missing; want one of allowed_origins", 0}
		}
		return &denial{http.StatusForbidden, refusedOrigin, "Origin", "is not one of allowed_origins", 0}
	}
	if s.agent.bot {
		return &denial{status: http.StatusNoContent, reason: refusedBot}
	}
	if wait, ok := s.key.bucket.take(now); !ok {
		return &denial{http.StatusTooManyRequests, refusedRate, "key", "is used for more than its rate_limit", wait}
	}
	return nil
}

// givenKey returns the key of a request. Of the query only `key` is looked at, so that nothing is built of a long one.
func givenKey(r *http.Request) string {
	if k := r.Header.Get("X-API-Key"); k != "" {
		return k
	}
	for rest := r.URL.RawQuery; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if k, ok := strings.CutPrefix(pair, "key="); ok {
			return strings.ReplaceAll(k, "%3A", ":") // the only character of a key that is written in another way
		}
	}
	return ""
}

// isOpen reports whether anybody may send as much as they like.
func (c *Config) isOpen() bool { return len(c.Keys) == 0 && !c.RateLimit.PerIP.limited() }
