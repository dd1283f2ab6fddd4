package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
)

// way is how a sender may choose to hand in the records of a case.
type way struct {
	name string
	fits func(c *corpus.Case) bool
	post func(t *testing.T, u *up, rec corpus.Records, tenant string)
}

type object = map[string]any

var ways = []way{
	{"whole", always, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		s, g, c := bodies(t, rec, tenant)
		sendAll(t, u, "/v1/chunks", false, s...)
		sendAll(t, u, "/v1/gateway", false, g...)
		sendAll(t, u, "/v1/rum", false, c...)
	}},
	{"segments", always, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		s, g, c := bodies(t, rec, tenant)
		var parts []object
		for _, b := range s {
			parts = append(parts, segments(b)...)
		}
		slices.SortStableFunc(parts, func(a, b object) int { return a["seq"].(int) - b["seq"].(int) })
		for _, p := range parts {
			sendAll(t, u, "/v1/chunks", false, p)
		}
		sendAll(t, u, "/v1/gateway", false, g...)
		sendAll(t, u, "/v1/rum", false, c...)
	}},
	// The page first, the engine last; differences in place of offsets, compressed, and nobody says who they are.
	{"reversed", always, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		s, g, c := bodies(t, rec, tenant)
		for _, b := range slices.Concat(s, g) {
			delete(b, "emitter")
			forgetEnd(b)
		}
		for _, b := range s {
			differences(b["chunks"])
		}
		for _, b := range c {
			for _, k := range []string{"recv", "dom", "paint"} {
				differences(b[k])
			}
		}
		slices.Reverse(s)
		sendAll(t, u, "/v1/rum", true, c...)
		sendAll(t, u, "/v1/gateway", true, g...)
		sendAll(t, u, "/v1/chunks", true, s...)
	}},
	// Only what is needed: content alone, its size where no text tells it, no terminal event.
	{"bare", always, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		s, g, c := bodies(t, rec, tenant)
		for _, b := range s {
			delete(b, "emitter")
			forgetEnd(b)
			bare(b["chunks"], true)
		}
		for _, b := range c {
			bare(b["recv"], false)
			if p, ok := b["paint"].(object); ok {
				delete(p, "bytes")
			}
			if b["request_id"] != nil {
				delete(b, "session_id")
			}
		}
		sendAll(t, u, "/v1/chunks", false, s...)
		sendAll(t, u, "/v1/gateway", false, g...)
		sendAll(t, u, "/v1/rum", false, c...)
	}},
	// Deltas without text are content like any other, only empty; the end is told by its reason alone, where there is one; the page
	// began with the question.
	{"plain", always, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		s, g, c := bodies(t, rec, tenant)
		for _, b := range s {
			plain(b)
		}
		for _, b := range c {
			fresh(t, b)
		}
		sendAll(t, u, "/v1/gateway", false, g...)
		sendAll(t, u, "/v1/chunks", false, s...)
		sendAll(t, u, "/v1/rum", false, c...)
	}},
	{"otlp", func(c *corpus.Case) bool { return c.Loop == nil && !c.Twice && !strings.HasPrefix(c.ID, "L") }, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		var relays []wire.Stream
		for i := range rec.Streams {
			s := &rec.Streams[i]
			s.Tenant = tenant
			if s.Tier == wire.TierGateway {
				relays = append(relays, *s)
				continue
			}
			sendSpan(t, u, s)
		}
		rec.Streams = relays
		_, g, c := bodies(t, rec, tenant)
		sendAll(t, u, "/v1/gateway", false, g...)
		sendAll(t, u, "/v1/rum", false, c...)
	}},
	{"hashes", func(c *corpus.Case) bool { return strings.HasPrefix(c.ID, "N") }, func(t *testing.T, u *up, rec corpus.Records, tenant string) {
		s, _, _ := bodies(t, rec, tenant)
		for _, b := range s {
			ch := b["chunks"].(object)
			var out []string
			for _, x := range ch["text"].([]any) {
				var of []string
				for _, w := range strings.Fields(x.(string)) {
					h := fnv.New64a()
					_, _ = h.Write([]byte("key " + w))
					of = append(of, fmt.Sprintf("%x", h.Sum64()))
				}
				out = append(out, strings.Join(of, " "))
			}
			ch["hashes"] = out
			delete(ch, "text")
		}
		sendAll(t, u, "/v1/chunks", false, s...)
	}},
}

func always(*corpus.Case) bool { return true }

// forgetEnd leaves the time of the end out where the terminal event tells it.
func forgetEnd(b object) {
	ch, _ := b["chunks"].(object)
	kinds, _ := ch["kind"].([]any)
	if n := len(kinds); n > 0 && kinds[n-1] == "done" || b["finish_reason"] == "stop" {
		delete(b, "end_us")
	}
}

// bodies are the records as JSON, the gateway's stream within its record.
func bodies(t *testing.T, rec corpus.Records, tenant string) (streams, gateways, clients []object) {
	read := func(b []byte) object {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var m object
		require.NoError(t, d.Decode(&m))
		return m
	}
	relays := map[string]object{}
	for i := range rec.Streams {
		s := &rec.Streams[i]
		s.Tenant = tenant
		b := read(wire.AppendStreamJSON(nil, s))
		if s.Tier == wire.TierGateway {
			relays[s.RequestID] = b
			continue
		}
		streams = append(streams, b)
	}
	for i := range rec.Gateways {
		g := &rec.Gateways[i]
		g.Tenant = tenant
		b := read(wire.AppendGatewayJSON(nil, g))
		if r := relays[g.RequestID]; r != nil {
			b["chunks"] = r["chunks"]
		}
		gateways = append(gateways, b)
	}
	for i := range rec.Clients {
		c := &rec.Clients[i]
		c.Tenant = tenant
		clients = append(clients, read(wire.AppendClientJSON(nil, c)))
	}
	return streams, gateways, clients
}

func sendAll(t *testing.T, u *up, path string, zip bool, bodies ...object) {
	t.Helper()
	if len(bodies) == 0 {
		return
	}
	var b bytes.Buffer
	for _, o := range bodies {
		require.NoError(t, json.NewEncoder(&b).Encode(o))
	}
	kind := "application/x-ndjson"
	if len(bodies) == 1 {
		kind = "application/json"
	}
	if zip {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, err := w.Write(b.Bytes())
		require.NoError(t, err)
		require.NoError(t, w.Close())
		b = z
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(u.Ingest, path), &b)
	require.NoError(t, err)
	req.Header.Set("Content-Type", kind)
	if zip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	code, answer := do(t, req)
	require.Equal(t, http.StatusOK, code, "%s: %s", path, answer)
}

// segments cuts a stream into up to six.
func segments(b object) []object {
	ch, _ := b["chunks"].(object)
	at, _ := ch["t"].([]any)
	if len(at) < 6 {
		b["seq"] = 0
		if _, open := b["final"]; !open {
			b["final"] = true
		}
		return []object{b}
	}
	var out []object
	for i := range 6 {
		from, to := i*len(at)/6, (i+1)*len(at)/6
		part := object{}
		for k, v := range ch {
			if list, ok := v.([]any); ok {
				part[k] = list[from:to]
			}
		}
		s := object{"chunks": part, "seq": i, "final": i == 5 && b["final"] != false}
		for k, v := range b {
			late := k == "finish_reason" || k == "end_us" || k == "error" || k == "output_tokens" || k == "observed_us"
			if _, ok := s[k]; !ok && (!late || i == 5) {
				s[k] = v
			}
		}
		out = append(out, s)
	}
	return out
}

func differences(of any) {
	ch, _ := of.(object)
	at, _ := ch["t"].([]any)
	if at == nil {
		return
	}
	var dt []int64
	last := int64(0)
	for _, x := range at {
		n, _ := x.(json.Number).Int64()
		dt, last = append(dt, n-last), n
	}
	delete(ch, "t")
	ch["dt"] = dt
}

// bare leaves the content alone, where all chunks are that, or the terminal event.
func bare(of any, text bool) {
	ch, _ := of.(object)
	kinds, _ := ch["kind"].([]any)
	n := len(kinds)
	for i, k := range kinds {
		if k != "content" {
			if k == "done" && i == len(kinds)-1 {
				n = i
				continue
			}
			return
		}
	}
	delete(ch, "kind")
	if kinds != nil {
		for k, v := range ch {
			ch[k] = v.([]any)[:n]
		}
	}
	if _, has := ch["text"]; has || !text {
		delete(ch, "bytes")
	}
}

// plain makes deltas without text content of no bytes, and leaves the terminal event out where the reason tells the end.
func plain(b object) {
	ch, _ := b["chunks"].(object)
	kinds, _ := ch["kind"].([]any)
	for i, k := range kinds {
		if k == "role" && i > 0 {
			kinds[i] = "content"
		}
	}
	if n := len(kinds); n > 0 && kinds[n-1] == "done" && b["finish_reason"] != nil {
		for k, v := range ch {
			if list, ok := v.([]any); ok {
				ch[k] = list[:n-1]
			}
		}
	}
}

// fresh makes the page's time begin where the user asked.
func fresh(t *testing.T, b object) {
	num := func(v any) int64 {
		n, err := v.(json.Number).Int64()
		require.NoError(t, err)
		return n
	}
	if b["submit_at"] == nil {
		return
	}
	age := num(b["submit_at"])
	for k, v := range b {
		switch k {
		case "clock":
			v.(object)["time_origin"] = num(v.(object)["time_origin"]) + age
		case "submit_at", "request_sent_at", "headers_at", "first_meaningful_paint_at", "aborted_at", "done_at", "closed_at":
			b[k] = num(v) - age
		case "recv", "dom", "paint":
			if list, ok := v.(object)["dt"].([]any); ok && len(list) > 0 {
				list[0] = num(list[0]) - age
			} else if list, ok := v.(object)["t"].([]any); ok {
				for i, at := range list {
					list[i] = num(at) - age
				}
			}
		case "visibility", "long_frames", "retractions":
			for _, pair := range v.([]any) {
				if list, ok := pair.([]any); ok {
					list[0] = num(list[0]) - age
				}
			}
		}
	}
}

// sendSpan hands a stream in as a span with an event for each chunk.
func sendSpan(t *testing.T, u *up, s *wire.Stream) {
	attr := func(k string, v any) object {
		switch x := v.(type) {
		case string:
			return object{"key": k, "value": object{"stringValue": x}}
		default:
			return object{"key": k, "value": object{"intValue": fmt.Sprint(x)}}
		}
	}
	ns := func(us int64) string { return fmt.Sprint((s.StartedAt + us) * 1000) }
	var events []object
	last := s.EndUS.V
	for i, at := range s.Chunks.T {
		e := []object{attr("gen_ai.chunk.kind", s.Chunks.Kind[i].String()), attr("gen_ai.chunk.bytes", s.Chunks.Bytes[i])}
		if len(s.Chunks.Tokens) > 0 {
			e = append(e, attr("gen_ai.chunk.tokens", s.Chunks.Tokens[i]))
		}
		events = append(events, object{"name": "gen_ai.chunk", "timeUnixNano": ns(at), "attributes": e})
		last = max(last, at)
	}
	attrs := []object{
		attr("gen_ai.operation.name", "chat"), attr("gen_ai.request.model", s.Model), attr("fermata.request_id", s.RequestID),
		attr("fermata.tenant", s.Tenant), attr("fermata.attempt", s.Attempt),
	}
	more := func(k, v string) {
		if v != "" {
			attrs = append(attrs, attr(k, v))
		}
	}
	more("gen_ai.response.finish_reasons", s.FinishReason)
	more("gen_ai.response.id", s.ResponseID)
	more("fermata.query_type", s.QueryType)
	more("fermata.model_version", s.ModelVersion)
	if s.OutputTokens.OK {
		attrs = append(attrs, attr("gen_ai.usage.output_tokens", s.OutputTokens.V))
	}
	if s.Reported.TTFTUS.OK {
		attrs = append(attrs, object{"key": "gen_ai.response.time_to_first_chunk", "value": object{"doubleValue": float64(s.Reported.TTFTUS.V) / 1e6}})
	}
	if s.ObservedUS.OK {
		attrs = append(attrs, attr("fermata.observed_us", s.ObservedUS.V), object{"key": "fermata.final", "value": object{"boolValue": false}})
	}
	b, err := json.Marshal(object{"resourceSpans": []object{{
		"resource": object{"attributes": []object{attr("service.name", "engine")}},
		"scopeSpans": []object{{"spans": []object{{
			"traceId": fmt.Sprintf("%032x", s.StartedAt+int64(len(events))), "spanId": fmt.Sprintf("%016x", s.StartedAt), "name": "chat", "kind": 3,
			"startTimeUnixNano": ns(0), "endTimeUnixNano": ns(last), "attributes": attrs, "events": events,
		}}}},
	}}})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(u.OTLPHTTP, "/v1/traces"), bytes.NewReader(b))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	code, answer := do(t, req)
	require.Equal(t, http.StatusOK, code, "%s", answer)
	require.NotContains(t, string(answer), "rejected", "%s", answer)
}
