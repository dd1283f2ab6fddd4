package wire

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// genString draws strings as wire fields hold them, escapes included.
func genString(t *rapid.T, name string, most int) string {
	s := rapid.StringOfN(rapid.RuneFrom([]rune(`ab"\/é😀 .-<&`+"\n\t\u2028\u0001")), 0, most, -1).Draw(t, name)
	return s
}

func genChunks(t *rapid.T, name string, kinds, all bool) Chunks {
	n := rapid.IntRange(0, 6).Draw(t, name)
	c := Chunks{}
	at := int64(0)
	for i := range n {
		at += rapid.Int64Range(0, 1_000_000).Draw(t, "gap")
		c.T = append(c.T, at)
		c.Bytes = append(c.Bytes, rapid.Uint32Range(0, 1000).Draw(t, "bytes"))
		if kinds {
			c.Kind = append(c.Kind, Kind(rapid.IntRange(0, kindCount-1).Draw(t, "kind")))
		}
		if all {
			c.Tokens = append(c.Tokens, rapid.Uint32Range(0, 9).Draw(t, "tokens"))
			c.Choice = append(c.Choice, rapid.Uint16().Draw(t, "choice"))
			c.Text = append(c.Text, genString(t, "text", 5))
			c.Logprob = append(c.Logprob, rapid.SampledFrom([]float32{0, -0.5, -12.25, float32(math.NaN())}).Draw(t, "logprob"))
		}
		_ = i
	}
	return c
}

// fill draws a value for every field of a record that has no rule of its own, so that a field that is added
// to a record and forgotten in its table fails the round trip.
func fill(t *rapid.T, v reflect.Value, path string, special map[string]func(reflect.Value)) {
	if f := special[path]; f != nil {
		f(v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() == 2 && v.Type().Field(0).Name == "V" { // Opt
			if rapid.Bool().Draw(t, path) {
				v.Set(reflect.ValueOf(Some(rapid.Int64Range(0, 1_000_000).Draw(t, path))))
			}
			return
		}
		for i := range v.NumField() {
			sub := v.Type().Field(i).Name
			if path != "" {
				sub = path + "." + sub
			}
			fill(t, v.Field(i), sub, special)
		}
	case reflect.String:
		v.SetString(genString(t, path, 8))
	case reflect.Int64, reflect.Int32:
		v.SetInt(rapid.Int64Range(0, 1000).Draw(t, path))
	case reflect.Uint32:
		v.SetUint(rapid.Uint64Range(0, 1000).Draw(t, path))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, path))
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, path)
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), path+"[]", special)
		}
	default:
		t.Fatalf("%s: no rule for a %s", path, v.Kind())
	}
}

func str(t *rapid.T, values ...string) func(reflect.Value) {
	return func(v reflect.Value) { v.SetString(rapid.SampledFrom(values).Draw(t, "word")) }
}

func instant(t *rapid.T) func(reflect.Value) {
	return func(v reflect.Value) {
		v.SetInt(1_760_000_000_000_000 + rapid.Int64Range(0, 1_000_000_000).Draw(t, "instant"))
	}
}

// ascending draws instants of which none is before the one drawn before.
func ascending(t *rapid.T) func(reflect.Value) {
	at := int64(1_760_000_000_000_000)
	return func(v reflect.Value) {
		at += rapid.Int64Range(0, 100_000_000).Draw(t, "instant")
		v.SetInt(at)
	}
}

func common(t *rapid.T) map[string]func(reflect.Value) {
	class := str(t, "", "timeout", "http_500")
	return map[string]func(reflect.Value){
		"RequestID": str(t, "r-1", "a.b:c_d"), "Tenant": str(t, "default", "acme"),
		"QueryType": str(t, "", "short_qa", "other"), "ErrorType": class, "Attempts[].ErrorType": class,
		"TraceID": str(t, "", "0af7651916cd43dd8448eb211c80319c"), "SpanID": str(t, "", "b7ad6b7169203331"),
		"Aliases[]": str(t, "x", "chatcmpl-1"), "Status": status(t), "Attempts[].Status": status(t),
	}
}

func status(t *rapid.T) func(reflect.Value) {
	return func(v reflect.Value) { v.SetInt(rapid.SampledFrom([]int64{0, 100, 200, 503, 999}).Draw(t, "status")) }
}

var same = cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateNaNs()}

func roundTripOptions() DecodeOptions {
	o := NewDefaultDecodeOptions()
	o.Now = time.Date(2026, 10, 9, 8, 0, 0, 0, time.UTC)
	o.KeepText = true
	return o
}

func TestStreamRoundTrip(t *testing.T) {
	s := compile(t, endpoints[0].schema)
	rapid.Check(t, func(t *rapid.T) {
		special := common(t)
		special["Tier"] = str(t, "server", "gateway")
		special["Attempt"] = func(v reflect.Value) { v.SetUint(rapid.Uint64Range(1, 1000).Draw(t, "attempt")) }
		special["CacheHit"] = str(t, "", "none", "full")
		special["StartedAt"] = instant(t)
		special["EndUS"] = func(v reflect.Value) { v.Set(reflect.ValueOf(Some[int64](10_000_000))) }
		special["Chunks"] = func(v reflect.Value) { v.Set(reflect.ValueOf(genChunks(t, "chunks", true, true))) }
		var want Stream
		fill(t, reflect.ValueOf(&want).Elem(), "", special)
		body := AppendStreamJSON(nil, &want)
		got, errs := DecodeStreams(body, roundTripOptions())
		require.Empty(t, errs, "%s", body)
		require.Empty(t, cmp.Diff([]Stream{want}, got, same), "%s", body)
		require.Equal(t, string(body), string(AppendStreamJSON(nil, &got[0])))
		require.NoError(t, validDoc(t, s, string(body)))
	})
}

func TestGatewayRoundTrip(t *testing.T) {
	s := compile(t, endpoints[1].schema)
	rapid.Check(t, func(t *rapid.T) {
		special := common(t)
		next := ascending(t)
		for _, f := range []string{"ReceivedAt", "UpstreamSentAt", "FirstByteAt", "LastByteAt", "CancelledAt", "UpstreamClosedAt", "Attempts[].Start"} {
			special[f] = next
		}
		served := false
		special["Attempts[].Served"] = func(v reflect.Value) {
			if !served {
				served = rapid.Bool().Draw(t, "served")
				v.SetBool(served)
			}
		}
		special["Attempts[].End"] = func(reflect.Value) {}
		n := uint64(0)
		special["Attempts[].Attempt"] = func(v reflect.Value) { n++; v.SetUint(n) }
		var want Gateway
		fill(t, reflect.ValueOf(&want).Elem(), "", special)
		body := AppendGatewayJSON(nil, &want)
		got, streams, errs := DecodeGateways(body, roundTripOptions())
		require.Empty(t, errs, "%s", body)
		require.Empty(t, streams)
		require.Empty(t, cmp.Diff([]Gateway{want}, got, same), "%s", body)
		require.Equal(t, string(body), string(AppendGatewayJSON(nil, &got[0])))
		require.NoError(t, validDoc(t, s, string(body)))
	})
}

func TestClientRoundTrip(t *testing.T) {
	s := compile(t, endpoints[2].schema)
	rapid.Check(t, func(t *rapid.T) {
		special := common(t)
		special["SpanID"] = nil
		special["SessionID"] = str(t, "s-1")
		special["Page"] = str(t, "/", "/chat/é")
		special["TimeOrigin"], special["WallNow"] = instant(t), instant(t)
		special["ReceivedAt"] = func(v reflect.Value) { v.SetInt(roundTripOptions().Now.UnixMicro()) }
		special["SampleWeight"] = func(v reflect.Value) {
			v.SetFloat(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, maxSampleWeight)).Draw(t, "weight"))
		}
		for name, kinds := range map[string]bool{"Recv": true, "DOM": false, "Paint": false} {
			special[name] = func(v reflect.Value) { v.Set(reflect.ValueOf(genChunks(t, name, kinds, false))) }
		}
		var want Client
		fill(t, reflect.ValueOf(&want).Elem(), "", special)
		body := AppendClientJSON(nil, &want)
		got, errs := DecodeClients(body, roundTripOptions())
		require.Empty(t, errs, "%s", body)
		require.Empty(t, cmp.Diff([]Client{want}, got, same), "%s", body)
		require.Equal(t, string(body), string(AppendClientJSON(nil, &got[0])))
		require.NoError(t, validDoc(t, s, string(body)))
	})
}

// seeds are the shapes a body can have.
var seeds = []string{
	`{"request_id":"r","started_at":1760000000000000,"chunks":{"t":[1,2],"bytes":[3,4],"kind":["role","content"]},"text":["a","b"]}`,
	`[{"request_id":"r","started_at":1760000000000000,"chunks":{"dt":[1.0,2e3]},"logprobs":[null,-1.5]},{"a":[[]]}]`,
	"{\"request_id\":\"r\"}\n{\"x\":\n{\"request_id\":\"\\ud83d\\ude00\\ud800\"}",
	`{"request_id":"r","received_at":1760000000000000,"attempts":[{"served":true}],"route_decision":{"candidates":["a"]},"chunks":{"t":[5]}}`,
	`{"session_id":"s","seq":1,"clock":{"time_origin":1.5},"streams":[{"recv":{"dt":[0.5]},"visibility":[[1,"hidden"]],"retractions":[[1,2],{"t":1}]},null]}`,
	`{"session_id":"s","sample_weight":3.3,"recv":{"dt":[1,2],"kind_runs":[["role",1],["content",1]]}}`,
	`[[[[{}]]]]`, "\xef\xbb\xbf{}", `"`, `{"a":"\u12`, `[1,2`, "\x00", `{"error":{"message":"timed out"}}`,
}

// fuzzBody holds what is true of every body: no panic, indexes ascend one by one, problems name a field,
// nothing but the arrays grows with it, and what is taken survives encoding.
func fuzzBody(f *testing.F, decode func(t *testing.T, body []byte, o DecodeOptions, seen func(index int, err *ItemError))) {
	for _, s := range seeds {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, ndjson bool) {
		o := roundTripOptions()
		o.NDJSON, o.MaxItems, o.Limits.MaxChunks = ndjson, 100, 1000
		keep := string(body)
		next := 0
		decode(t, body, o, func(index int, err *ItemError) {
			require.Equal(t, next, index)
			next++
			if err == nil {
				return
			}
			require.Equal(t, index, err.Index)
			problems := FieldErrors(err)
			require.NotEmpty(t, problems)
			require.LessOrEqual(t, len(problems), 2*maxProblems)
			for _, p := range problems {
				require.NotEmpty(t, p.Field)
				require.NotEmpty(t, p.Reason)
				require.Less(t, len(p.Field)+len(p.Reason), 600)
			}
			require.True(t, err.RequestID == "" || ValidID(err.RequestID))
		})
		require.LessOrEqual(t, next, o.MaxItems+2)
		require.Equal(t, keep, string(body), "a body is only read")
	})
}

func FuzzDecodeStreams(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte, o DecodeOptions, seen func(int, *ItemError)) {
		EachStream(body, o, func(i int, s *Stream, err *ItemError) {
			seen(i, err)
			if err != nil {
				return
			}
			require.NoError(t, s.Validate(o.Now, o.Limits))
			again, errs := DecodeStreams(AppendStreamJSON(nil, s), o)
			require.Empty(t, errs)
			require.Empty(t, cmp.Diff([]Stream{*s}, again, same))
		})
	})
}

func FuzzDecodeGateways(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte, o DecodeOptions, seen func(int, *ItemError)) {
		EachGateway(body, o, func(i int, g *Gateway, _ *Stream, err *ItemError) {
			seen(i, err)
			if err != nil {
				return
			}
			again, _, errs := DecodeGateways(AppendGatewayJSON(nil, g), o)
			require.Empty(t, errs)
			require.Empty(t, cmp.Diff([]Gateway{*g}, again, same))
		})
	})
}

func FuzzDecodeClients(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte, o DecodeOptions, seen func(int, *ItemError)) {
		EachClient(body, o, func(i int, c *Client, err *ItemError) {
			seen(i, err)
			if err != nil {
				return
			}
			again, errs := DecodeClients(AppendClientJSON(nil, c), o)
			require.Empty(t, errs)
			require.Empty(t, cmp.Diff([]Client{*c}, again, same))
		})
	})
}

// FuzzSkip holds the reader against encoding/json: both take the same values.
func FuzzSkip(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := jsonReader{b: b}
		err := r.skip()
		whole := err == nil && r.peek() == 0 && r.i == len(b)
		if strings.Count(string(b), "[")+strings.Count(string(b), "{") < maxDepth {
			require.Equal(t, jsonValid(b), whole, "%q", b)
		}
		if len(b) > 0 && (b[0] == '{' || b[0] == '[') && err == nil {
			require.Equal(t, r.extentAfterSkip(), r.extent(0), "a valid value's end is found by brackets alone")
		}
	})
}
