package genai

import (
	"strings"

	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/wire"
)

// ids are all names that one call goes by.
type ids struct {
	request  string
	source   IDSource
	response string
	aliases  []string
}

// maxAliases is how many an adapter makes at most; Validate allows more.
const maxAliases = 12

// readIDs picks the request id, the surest first, and keeps all others as aliases, so that the join finds
// the call whichever of them another tier knows. vLLM's own id is the client's X-Request-Id with a prefix,
// and for completions an index; without them it is an alias too (PEERS: the join by response id matched
// every span of a study, the one by client id none).
func readIDs(f *facts, traceID string, known string) ids {
	var d ids
	d.response = f.str(semconv.ResponseID)
	engine := f.str(semconv.EngineRequestID)
	if d.response == "" && bare(engine) != engine {
		d.response = engine
	}
	candidates := [...]string{
		FromRequestID:  first(known, f.str(semconv.RequestID)),
		FromHeader:     f.str(semconv.HeaderRequestID),
		FromGatewayID:  f.str(semconv.GatewayCallID),
		FromEngineID:   engine,
		FromResponseID: d.response,
		FromTraceID:    traceID,
	}
	d.request, d.source = known, FromRequestID
	for i, c := range candidates {
		if d.request == "" && wire.ValidID(c) {
			d.request, d.source = c, IDSource(i)
		}
	}
	if d.request == "" {
		// Nothing is well formed: let validation say what is wrong with the best one.
		d.request = first(candidates[:]...)
	}
	for i, c := range candidates[:FromTraceID] {
		d.alias(c)
		if s := IDSource(i); s == FromEngineID || s == FromResponseID {
			base := bare(c)
			d.alias(base)
			d.alias(strings.TrimSuffix(base, "-0"))
		}
	}
	return d
}

func (d *ids) alias(s string) {
	if s == "" || s == d.request || s == d.response || len(s) > 256 || len(d.aliases) >= maxAliases {
		return
	}
	for _, a := range d.aliases {
		if a == s {
			return
		}
	}
	d.aliases = append(d.aliases, s)
}

// bare takes vLLM's prefix off an id.
func bare(id string) string {
	for _, p := range [...]string{"chatcmpl-", "cmpl-", "resp_"} {
		if rest, ok := strings.CutPrefix(id, p); ok && rest != "" {
			return rest
		}
	}
	return id
}
