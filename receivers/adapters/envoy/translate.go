package envoy

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/wire"
)

// DefaultEmitter is the emitter of records whose resource has no service.name.
const DefaultEmitter = "envoy"

// field is one value of an access log, by what it means.
type field uint8

const (
	fNone field = iota
	fStart
	fRequestDuration
	fResponseDuration
	fResponseTx
	fDuration
	fTTFB
	fUpstreamTx
	fUpstreamEnd
	fHost
	fCluster
	fRoute
	fRequestID
	fResponseID
	fTraceparent
	fCode
	fFlags
	fAttempts
	fDeployment
	fMethod
	fieldCount
)

// keys are the attribute names read, with the command operator that each stands for. Durations carry their
// unit in the name, for the operators' unit can be chosen.
var keys = map[string]struct {
	f    field
	unit int64 // µs
}{
	"start_time":                     {fStart, 0}, // %START_TIME%
	"request_duration_ms":            {fRequestDuration, 1000},
	"request_duration":               {fRequestDuration, 1000}, // %REQUEST_DURATION%
	"response_duration_ms":           {fResponseDuration, 1000},
	"response_duration":              {fResponseDuration, 1000}, // %RESPONSE_DURATION%
	"response_tx_duration_ms":        {fResponseTx, 1000},
	"response_tx_duration":           {fResponseTx, 1000}, // %RESPONSE_TX_DURATION%
	"duration_ms":                    {fDuration, 1000},
	"duration":                       {fDuration, 1000}, // %DURATION%
	"duration_us":                    {fDuration, 1},    // %COMMON_DURATION(DS_RX_BEG:DS_TX_END:us)%
	"ttfb_us":                        {fTTFB, 1},        // %COMMON_DURATION(DS_RX_BEG:US_RX_BEG:us)%
	"ttfb_ms":                        {fTTFB, 1000},
	"upstream_tx_us":                 {fUpstreamTx, 1}, // %COMMON_DURATION(DS_RX_BEG:US_TX_BEG:us)%
	"upstream_tx_ms":                 {fUpstreamTx, 1000},
	"upstream_rx_end_us":             {fUpstreamEnd, 1}, // %COMMON_DURATION(DS_RX_BEG:US_RX_END:us)%
	"upstream_rx_end_ms":             {fUpstreamEnd, 1000},
	"upstream_host":                  {fHost, 0},    // %UPSTREAM_HOST%
	"upstream_cluster":               {fCluster, 0}, // %UPSTREAM_CLUSTER%
	"route_name":                     {fRoute, 0},   // %ROUTE_NAME%
	"request_id":                     {fRequestID, 0},
	"x_request_id":                   {fRequestID, 0},
	"x-request-id":                   {fRequestID, 0}, // %REQ(X-REQUEST-ID)%
	"upstream_id":                    {fResponseID, 0},
	"response_id":                    {fResponseID, 0}, // %RESP(X-UPSTREAM-ID)%
	"traceparent":                    {fTraceparent, 0},
	"response_code":                  {fCode, 0},  // %RESPONSE_CODE%
	"response_flags":                 {fFlags, 0}, // %RESPONSE_FLAGS% or %RESPONSE_FLAGS_LONG%
	"upstream_request_attempt_count": {fAttempts, 0},
	"deployment":                     {fDeployment, 0},
	"method":                         {fMethod, 0},
}

// Recognize reports whether a log record is one of Envoy's access log: it tells of response flags, which no
// other source has, beside a code, a cluster, a host or a duration; or its resource has the labels that
// Envoy puts there and the record has one of those fields.
func Recognize(src *otlpwire.Source, lr *otlpwire.LogRecord) bool {
	flags, others := false, 0
	for i := range lr.Attrs {
		switch keys[lr.Attrs[i].Key].f {
		case fFlags:
			flags = true
		case fCode, fCluster, fHost, fDuration, fResponseDuration, fTTFB:
			others++
		default:
		}
	}
	if others == 0 {
		return false
	}
	return flags || !src.Resource.Get("log_name").IsZero() && labelled(src.Resource)
}

// labelled reports whether a resource carries Envoy's built-in labels. They may be empty strings.
func labelled(resource otlpwire.Attrs) bool {
	n := 0
	for i := range resource {
		switch resource[i].Key {
		case "zone_name", "cluster_name", "node_name":
			n++
		}
	}
	return n == 3
}

// Translate makes a gateway record of one access log record. It does not validate.
func Translate(src *otlpwire.Source, lr *otlpwire.LogRecord) (wire.Gateway, error) {
	var v values
	if err := v.read(lr.Attrs); err != nil {
		return wire.Gateway{RequestID: v.str[fRequestID]}, err
	}
	g := wire.Gateway{Tenant: wire.DefaultTenant, Emitter: DefaultEmitter, TraceID: traceID(v.str[fTraceparent], lr.TraceID)}
	labels(&g, src.Resource)
	labels(&g, lr.Attrs)
	return v.gateway(g, int64(lr.Time/1000)) //nolint:gosec // below 2^54
}

// gateway fills a record that has its labels.
func (v *values) gateway(g wire.Gateway, at int64) (wire.Gateway, error) {
	g.ResponseID, g.Route = v.str[fResponseID], v.str[fRoute]
	g.Deployment = first(g.Deployment, v.str[fDeployment], v.str[fCluster], v.str[fHost])
	g.RouteDecision.Chosen = v.str[fHost]
	g.RequestID = first(v.str[fRequestID], g.ResponseID, g.TraceID)
	g.ReceivedAt = at
	if v.str[fStart] != "" {
		var ok bool
		if g.ReceivedAt, ok = instant(v.str[fStart]); !ok {
			return g, wire.Fieldf("start_time", "is not an instant; log %%START_TIME(%%Y-%%m-%%dT%%H:%%M:%%S.%%6fZ)%%")
		}
	}
	if err := v.code(&g); err != nil {
		return g, err
	}
	v.times(&g)
	v.flags(&g)
	if n := v.attempts; n.OK {
		g.Retries = wire.Some(max(0, n.V-1))
	}
	v.attempt(&g)
	return g, nil
}

type values struct {
	str      [fieldCount]string
	us       [fieldCount]wire.Opt[int64]
	attempts wire.Opt[int64]
}

func (v *values) read(attrs otlpwire.Attrs) error {
	for i := range attrs {
		if _, ok := keys[attrs[i].Key]; !ok {
			continue
		}
		if err := v.set(attrs[i].Key, text(attrs[i].Value)); err != nil {
			return err
		}
	}
	return nil
}

// set takes one field; those that aren't known are left out.
func (v *values) set(key, s string) error {
	k, ok := keys[key]
	if !ok || s == "" || s == "-" {
		return nil
	}
	if k.unit == 0 && k.f != fAttempts {
		v.str[k.f] = s
		return nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 1e15 {
		return wire.Fieldf(strings.Clone(key), "is not a number")
	}
	if n < 0 {
		return wire.Fieldf(strings.Clone(key), "is negative (%g)", n)
	}
	if k.f == fAttempts {
		v.attempts = wire.Some(int64(n))
		return nil
	}
	// The finer unit wins when a quantity is logged in two.
	if !v.us[k.f].OK || k.unit == 1 {
		v.us[k.f] = wire.Some(int64(math.Round(n * float64(k.unit))))
	}
	return nil
}

// FromFields makes a gateway record of an access log in JSON, whose fields have the names that README.md
// lists; at is the record's own instant in µs, for a log without start_time, or 0. It does not validate.
func FromFields(fields map[string]string, at int64) (wire.Gateway, error) {
	var v values
	for key, s := range fields {
		if err := v.set(key, s); err != nil {
			return wire.Gateway{RequestID: fields["request_id"]}, err
		}
	}
	g := wire.Gateway{Tenant: wire.DefaultTenant, Emitter: DefaultEmitter, TraceID: traceID(v.str[fTraceparent], nil)}
	return v.gateway(g, at)
}

// text reads a value as Envoy writes it, or as a typed one that a collector in between made of it.
func text(v otlpwire.Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	if d, ok := v.Float(); ok {
		return strconv.FormatFloat(d, 'g', -1, 64)
	}
	return v.Str()
}

// labels takes what semantic conventions name, from the resource and then from the record, where users add
// for instance the model from dynamic metadata.
func labels(g *wire.Gateway, attrs otlpwire.Attrs) {
	set := func(at *string, v otlpwire.Value) {
		if s := text(v); s != "" && s != "-" {
			*at = s
		}
	}
	count := func(at *wire.Opt[int64], v otlpwire.Value) {
		if n, err := strconv.ParseInt(text(v), 10, 64); err == nil {
			*at = wire.Some(n)
		}
	}
	for i := range attrs {
		a := &attrs[i]
		f, _ := semconv.Lookup(a.Key)
		switch f {
		case semconv.Tenant:
			set(&g.Tenant, a.Value)
		case semconv.ServiceName, semconv.Emitter:
			set(&g.Emitter, a.Value)
		case semconv.Region:
			set(&g.Region, a.Value)
		case semconv.App:
			set(&g.App, a.Value)
		case semconv.QueryType:
			set(&g.QueryType, a.Value)
		case semconv.Provider:
			set(&g.Provider, a.Value)
		case semconv.Deployment:
			set(&g.Deployment, a.Value)
		case semconv.RequestModel:
			set(&g.Model, a.Value)
		case semconv.ModelVersion:
			set(&g.ModelVersion, a.Value)
		case semconv.InputTokens:
			count(&g.PromptTokens, a.Value)
		case semconv.OutputTokens:
			count(&g.OutputTokens, a.Value)
		default:
		}
	}
}

func (v *values) code(g *wire.Gateway) error {
	s := v.str[fCode]
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || n > 999 {
		return wire.Fieldf("response_code", "is not an HTTP status")
	}
	if n >= 100 { // 0: there was no answer
		g.Status = int32(n)
	}
	return nil
}

// times places Envoy's durations, which all count from the start of the request.
//
// RESPONSE_DURATION ends with the response's first byte: its headers and, for a streamed chat, the chunk
// with the role. That is a first byte, not a first token, so no TTFT is reported.
func (v *values) times(g *wire.Gateway) {
	at := func(o wire.Opt[int64]) int64 {
		if !o.OK {
			return 0
		}
		return g.ReceivedAt + o.V
	}
	ttfb := v.us[fTTFB]
	if !ttfb.OK {
		ttfb = v.us[fResponseDuration]
	}
	g.FirstByteAt = at(ttfb)
	g.UpstreamSentAt = at(v.us[fUpstreamTx])
	g.UpstreamClosedAt = at(v.us[fUpstreamEnd])
	last := v.us[fDuration]
	if tx := v.us[fResponseTx]; !last.OK && ttfb.OK && tx.OK {
		last = wire.Some(ttfb.V + tx.V)
	}
	g.LastByteAt = at(last)
	// Milliseconds are cut off, not rounded: an end in ms may seem to lie before a start in µs.
	if g.LastByteAt != 0 && g.LastByteAt < g.FirstByteAt {
		g.LastByteAt = g.FirstByteAt
	}
}

const retriesEnded = "upstream_retry_limit_exceeded"

// errorTypes are the response flags that say why a request failed; the words are Envoy's own.
var errorTypes = map[string]string{
	"UPE": "upstream_protocol_error", "UC": "upstream_connection_termination", "UF": "upstream_connection_failure",
	"UH": "no_healthy_upstream", "UO": "upstream_overflow", "UR": "upstream_remote_reset", "UT": "upstream_timeout",
	"URX": retriesEnded, "UMSDR": "upstream_max_stream_duration_reached", "LR": "local_reset",
	"LH": "local_health_check_failed", "SI": "stream_idle_timeout", "DT": "duration_timeout", "NR": "no_route",
	"NC": "no_cluster", "NFCF": "no_filter_config", "RL": "rate_limited", "RLSE": "rate_limit_service_error",
	"UAEX": "unauthorized", "IH": "invalid_header", "DPE": "downstream_protocol_error", "OM": "overload",
	"DF": "dns_failure", "FI": "fault_injected", "DO": "dropped_by_load_balancer", "DRU": "downstream_not_ready",
	"UpstreamProtocolError": "upstream_protocol_error", "UpstreamConnectionTermination": "upstream_connection_termination",
	"UpstreamConnectionFailure": "upstream_connection_failure", "NoHealthyUpstream": "no_healthy_upstream",
	"UpstreamOverflow": "upstream_overflow", "UpstreamRemoteReset": "upstream_remote_reset",
	"UpstreamRequestTimeout": "upstream_timeout", "UpstreamRetryLimitExceeded": retriesEnded,
	"UpstreamMaxStreamDurationReached": "upstream_max_stream_duration_reached", "LocalReset": "local_reset",
	"StreamIdleTimeout": "stream_idle_timeout", "DurationTimeout": "duration_timeout", "NoRouteFound": "no_route",
	"NoClusterFound": "no_cluster", "RateLimited": "rate_limited", "DownstreamProtocolError": "downstream_protocol_error",
	"OverloadManagerTerminated": "overload", "DnsResolutionFailed": "dns_failure", "FaultInjected": "fault_injected",
	"UnauthorizedExternalService": "unauthorized",
}

// flags reads why a stream ended. A status of 200 says nothing here: it was sent before the stream broke
// (UPE: the upstream was killed in the middle). DC is the client's abort, which is no failure.
func (v *values) flags(g *wire.Gateway) {
	for _, f := range strings.FieldsFunc(v.str[fFlags], func(r rune) bool { return r == ',' || r == ' ' }) {
		if f == "DC" || f == "DR" || f == "DownstreamConnectionTermination" || f == "DownstreamRemoteReset" {
			g.CancelledAt = g.LastByteAt
			if g.CancelledAt == 0 {
				g.CancelledAt = g.FirstByteAt
			}
			continue
		}
		// That retries did not help says less than why the last one failed (URX,UF).
		if e := errorTypes[f]; e != "" && (g.ErrorType == "" || g.ErrorType == retriesEnded) {
			g.ErrorType = e
		}
	}
	if g.ErrorType == "" && g.Status >= 400 {
		g.ErrorType = "http_" + strconv.Itoa(int(g.Status))
	}
}

// attempt is the upstream call that Envoy tells of: the last one.
func (v *values) attempt(g *wire.Gateway) {
	if v.str[fHost] == "" && v.str[fCluster] == "" {
		return
	}
	a := wire.Attempt{
		Attempt: 1, Deployment: g.Deployment, Provider: g.Provider, Model: g.Model,
		Start: g.UpstreamSentAt, End: g.UpstreamClosedAt, Status: g.Status, ErrorType: g.ErrorType,
		Served: g.FirstByteAt != 0 || g.Status >= 200 && g.Status < 400,
	}
	if n := v.attempts; n.OK && n.V > 0 && n.V <= 1000 {
		a.Attempt = uint32(n.V)
	}
	if a.Start != 0 && a.End != 0 && a.End < a.Start {
		a.End = 0
	}
	g.Attempts = []wire.Attempt{a}
}

// instant reads %START_TIME%: RFC 3339 in UTC, or seconds since the epoch with a fraction (%s.%6f).
func instant(s string) (int64, bool) {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMicro(), true
		}
	}
	sec, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || n < 0 || n > 1<<33 || len(frac) > 9 {
		return 0, false
	}
	us := int64(0)
	if frac != "" {
		f, err := strconv.ParseUint((frac + "000000")[:6], 10, 32)
		if err != nil {
			return 0, false
		}
		us = int64(f)
	}
	return n*1_000_000 + us, true
}

// traceID reads a W3C traceparent, else the record's own trace id.
func traceID(traceparent string, id []byte) string {
	if p := strings.Split(traceparent, "-"); len(p) >= 4 && len(p[1]) == 32 {
		if raw, err := hex.DecodeString(p[1]); err == nil {
			id = raw
		}
	}
	if len(id) != 16 {
		return ""
	}
	for _, b := range id {
		if b != 0 {
			return hex.EncodeToString(id)
		}
	}
	return ""
}

func first(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}
