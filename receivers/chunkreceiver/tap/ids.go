package tap

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/fermata-io/fermata/internal/wire"
)

// Headers that the tap reads or writes.
const (
	headerRequestID   = "X-Request-Id"
	headerUpstreamID  = "X-Upstream-Request-Id" // the upstream's own X-Request-Id, where it differs
	headerTraceparent = "Traceparent"
	headerTiming      = "Server-Timing"
	headerExpose      = "Access-Control-Expose-Headers"
	headerQueryType   = "X-Fermata-Query-Type"
	headerTenant      = "X-Fermata-Tenant"
	headerApp         = "X-Fermata-App"
	headerAttempt     = "X-Fermata-Attempt"
	headerEnvoy       = "X-Envoy-Attempt-Count"
)

// aliasHeaders of an answer hold other systems' names for the request.
var aliasHeaders = [...]string{
	"X-Litellm-Call-Id", "Request-Id", "X-Request-Id", "Apim-Request-Id", "X-Amzn-Requestid", "X-Goog-Request-Id",
	"X-Correlation-Id", "X-Portkey-Trace-Id", "X-Generation-Id", "Openai-Request-Id",
}

// maxAliases bounds the aliases of one stream.
const maxAliases = 16

func newRequestID() string {
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	return id.String()
}

// traceIDs reads a W3C traceparent; ok is false when it is not valid.
func traceIDs(v string) (trace, span string, ok bool) {
	if len(v) < 55 || v[2] != '-' || v[35] != '-' || v[52] != '-' || v[:2] == "ff" || len(v) > 55 && (v[:2] == "00" || v[55] != '-') {
		return "", "", false
	}
	trace, span = v[3:35], v[36:52]
	if !lowerHex(v[:2]) || !lowerHex(trace) || !lowerHex(span) || !lowerHex(v[53:55]) || allZero(trace) || allZero(span) {
		return "", "", false
	}
	return trace, span, true
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func allZero(s string) bool {
	for i := range len(s) {
		if s[i] != '0' {
			return false
		}
	}
	return true
}

// newTraceparent starts a trace. It is marked as sampled: a server that samples by its parent would otherwise
// stop tracing what it traced before the tap stood in front of it.
func newTraceparent() (header, trace, span string) {
	var b [24]byte
	_, _ = rand.Read(b[:])        // never fails (crypto/rand)
	b[0], b[16] = b[0]|1, b[16]|1 // neither id may be zero
	var h [48]byte
	hex.Encode(h[:], b[:])
	trace, span = string(h[:32]), string(h[32:])
	return "00-" + trace + "-" + span + "-01", trace, span
}

// addAlias appends a name for the request if it is usable and new.
func addAlias(list []string, id, name string) []string {
	if name == "" || name == id || len(name) > 256 || len(list) >= maxAliases || !utf8.ValidString(name) {
		return list
	}
	for i := range len(name) {
		if name[i] < 0x20 || name[i] == 0x7f {
			return list
		}
	}
	for _, a := range list {
		if a == name {
			return list
		}
	}
	return append(list, name)
}

// clean makes a header's or body's value fit for a record: at most n bytes of UTF-8 without NUL.
func clean(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}

// queryType takes the header over if it is a word of the contract.
func queryType(h http.Header) string {
	switch v := h.Get(headerQueryType); v {
	case "short_qa", "long_form", "code_completion", "translate_summarize", "other":
		return v
	}
	return ""
}

// maxAttempt is the highest number of an attempt that the wire format has.
const maxAttempt = 1000

// attempt reads the number that a header gives the request; 0: none.
func attempt(h http.Header, name string) uint32 {
	n, err := strconv.ParseUint(h.Get(name), 10, 32)
	if err != nil || n > maxAttempt {
		return 0
	}
	return uint32(n)
}

func tenant(cfg *Config, h http.Header) string {
	if v := h.Get(headerTenant); !cfg.FixedTenant && wire.ValidID(v) {
		return v
	}
	return cfg.Tenant
}
