package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

var now = time.Date(2026, 10, 9, 8, 0, 0, 0, time.UTC)

const started = 1_760_000_000_000_000

func options() wire.DecodeOptions {
	o := wire.NewDefaultDecodeOptions()
	o.Now = now
	return o
}

// problems renders errors as "index request_id field: reason" lines.
func problems(errs []wire.ItemError) string {
	var b strings.Builder
	for _, e := range errs {
		for _, f := range wire.FieldErrors(e.Err) {
			fmt.Fprintf(&b, "%d %s %s: %s\n", e.Index, e.RequestID, f.Field, f.Reason)
		}
	}
	return b.String()
}

const full = `{"request_id":"r-1","attempt":2,"tenant":"acme","emitter":"vllm","tier":"gateway","provider":"p","deployment":"d",
"model":"m","model_version":"v","route":"/chat","app":"a","region":"eu","query_type":"short_qa","prompt_tokens":10,"output_tokens":3,
"reasoning_tokens":1,"cached_tokens":4,"cache_hit":{"result":"partial","level":"gpu"},"cache_key_version":"k2","chunk_size":2048,
"max_num_batched_tokens":8192,"speculative":{"draft":5,"accepted":4},"batch_size":7,"queue_us":100,"prefill_us":0,"decode_us":300,
"started_at":1760000000000000,"ttfb_us":5000,"end_us":90000,"observed_us":95000,
"chunks":{"t":[10000,20000.0,3e4],"tokens":[1,2,1],"kind":["role","reasoning","content"],"choice":[0,0,1]},
"text":["","héé","\ud83d\ude00"],"logprobs":[null,-0.5,-1e-3],
"reported":{"definition":"vllm_api","ttft_us":1,"ttfa_us":2,"itl_mean_us":3,"tpot_us":4,"e2e_us":5},
"synthetic":true,"finish_reason":"stop","stop_reason":151643,"error":{"type":"server_error","message":"Bob wrote x","code":500},
"status":200,"response_id":"chatcmpl-1","trace_id":"0AF7651916CD43DD8448EB211C80319C","span_id":"B7AD6B7169203331","aliases":["x","y"],
"later_field":{"deep":[1,{"a":null}]}}`

func TestDecodeStreamAllFields(t *testing.T) {
	o := options()
	o.KeepText = true
	items, errs := wire.DecodeStreams([]byte(full), o)
	require.Empty(t, problems(errs))
	require.Len(t, items, 1)
	s := items[0]
	require.Equal(t, []int64{10000, 20000, 30000}, s.Chunks.T)
	require.Equal(t, []uint32{0, 5, 4}, s.Chunks.Bytes)
	require.Equal(t, []uint32{1, 2, 1}, s.Chunks.Tokens)
	require.Equal(t, []wire.Kind{wire.KindRole, wire.KindReasoning, wire.KindContent}, s.Chunks.Kind)
	require.Equal(t, []uint16{0, 0, 1}, s.Chunks.Choice)
	require.Equal(t, []string{"", "héé", "😀"}, s.Chunks.Text)
	require.True(t, s.Chunks.Logprob[0] != s.Chunks.Logprob[0], "null is not known")
	s.Chunks = wire.Chunks{}
	some := wire.Some[int64]
	require.Equal(t, wire.Stream{
		RequestID: "r-1", Tenant: "acme", Tier: "gateway", Attempt: 2, Emitter: "vllm", Final: true,
		Target: wire.Target{Provider: "p", Deployment: "d", Model: "m", ModelVersion: "v"},
		Route:  "/chat", App: "a", Region: "eu", QueryType: "short_qa",
		PromptTokens: some(10), OutputTokens: some(3), ReasoningTokens: some(1), CachedTokens: some(4),
		CacheHit: "partial", CacheLevel: "gpu", CacheKeyVersion: "k2", ChunkSize: some(2048),
		MaxNumBatchedTokens: some(8192), SpecDraft: some(5), SpecAccepted: some(4), BatchSize: some(7),
		QueueUS: some(100), PrefillUS: some(0), DecodeUS: some(300), StartedAt: started,
		HeadersUS: some(5000), EndUS: some(90000), ObservedUS: some(95000),
		Reported: wire.Reported{
			Definition: "vllm_api", TTFTUS: some(1), TTFAUS: some(2), ITLMeanUS: some(3), TPOTUS: some(4), E2EUS: some(5),
		},
		Synthetic: true, FinishReason: "stop", StopReason: "151643", ErrorType: "server_error", Status: 200,
		ResponseID: "chatcmpl-1", TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331",
		Aliases: []string{"x", "y"},
	}, s)
}

// rec builds a good body with some fields replaced.
func rec(id, extra string) string {
	s := `{"request_id":"` + id + `","started_at":1760000000000000`
	if extra != "" {
		s += "," + extra
	}
	return s + "}"
}

func TestDecodeStreamProblems(t *testing.T) {
	f := func(name, extra, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			// A bad item between two good ones: they are kept.
			body := "[" + rec("a", "") + "," + rec("b", extra) + "," + rec("c", "") + "]"
			items, errs := wire.DecodeStreams([]byte(body), options())
			got := problems(errs)
			require.Equal(t, want, strings.TrimSuffix(got, "\n"))
			n := 3
			if want != "" {
				n = 2
			}
			require.Len(t, items, n)
		})
	}
	ch := func(s string) string { return `"chunks":{` + s + `}` }
	f("string in t", ch(`"t":[1,"2"]`), "1 b chunks.t[1]: is a string; want an integer number of µs")
	f("fraction in t", ch(`"t":[1,2.5]`), "1 b chunks.t[1]: is 2.5; want an integer number of µs")
	f("integral floats", ch(`"t":[1.0,2e3,-0, 30E2]`), "1 b chunks.t[2]: is 0, before the entry in front of it (2000); times must ascend")
	f("minus zero", ch(`"t":[-0,2e3, 30E2]`), "")
	f("negative", ch(`"t":[1,-2]`), "1 b chunks.t[1]: is negative (-2)")
	f("unsorted", ch(`"t":[5,4]`), "1 b chunks.t[1]: is 4, before the entry in front of it (5); times must ascend")
	f("negative difference", ch(`"dt":[5,-1]`), "1 b chunks.dt[1]: is negative (-1); times must ascend")
	f("overflowing difference", ch(`"dt":[9223372036854775807,1]`), "1 b chunks.dt[1]: is out of range (1)")
	f("nanoseconds", ch(`"dt":[5,100000000000000]`), "1 b chunks.dt[1]: is 100000000000005 µs, at most 86400000000 (24h0m0s) are allowed; are these nanoseconds?")
	f("beyond int64", ch(`"t":[99999999999999999999]`), "1 b chunks.t[0]: is out of range (99999999999999999999); want an integer number of µs")
	f("underflow", ch(`"t":[1e-400]`), "1 b chunks.t[0]: is 1e-400; want an integer number of µs")
	f("overflow", ch(`"t":[1e400]`), "1 b chunks.t[0]: is out of range (1e400); want an integer number of µs")
	f("t and dt", ch(`"t":[1],"dt":[1]`), "1 b chunks.dt: stands beside t; give one of the two")
	f("null is absent", ch(`"t":[1],"dt":null,"bytes":null`)+`,"model":null,"error":null`, "")
	f("null in t", ch(`"t":[1,null]`), "1 b chunks.t[1]: is null; want an integer number of µs")
	f("lengths", ch(`"t":[1,2],"bytes":[1]`), "1 b chunks.bytes: has 1 entries but chunks.t has 2; arrays of one object have one length")
	f("text length", ch(`"t":[1,2]`)+`,"text":["a"]`, "1 b text: has 1 entries but chunks.t has 2; arrays of one object have one length")
	f("text twice", ch(`"t":[1],"text":["a"]`)+`,"text":["a"]`, "1 b text: is given twice, here and in chunks")
	f("no times", ch(`"bytes":[1]`), "1 b chunks.bytes: has 1 entries but chunks.t has 0; arrays of one object have one length")
	f("kind", ch(`"t":[1],"kind":["c"]`), `1 b chunks.kind[0]: is "c"; want content, reasoning, tool, refusal, role, usage, keepalive, error, done`)
	f("kind type", ch(`"t":[1],"kind":[1]`), `1 b chunks.kind[0]: is a number; want a string`)
	f("bytes too big", ch(`"t":[1],"bytes":[4294967296]`), `1 b chunks.bytes[0]: is 4294967296, at most 4294967295 is allowed`)
	f("chunks type", `"chunks":[1]`, "1 b chunks: is an array; want an object")
	f("t type", ch(`"t":{}`), "1 b chunks.t: is an object; want an array")
	f("model type", `"model":5`, "1 b model: is a number; want a string")
	f("final type", `"final":"yes"`, "1 b final: is a string; want true or false")
	f("duplicate", `"model":"a","model":"b"`, "1 b model: is given twice")
	f("duplicate unknown", `"x":"a","x":"b"`, "")
	f("NUL", `"model":"a\u0000b"`, "1 b model: holds a NUL byte at 1")
	f("raw NUL", "\"model\":\"a\x00b\"", "1 b model: holds a raw control character; want it escaped")
	f("half a pair", `"model":"a\ud800b"`, "1 b model: holds half of a surrogate pair")
	f("bad UTF-8", "\"model\":\"a\xffb\"", "1 b model: is not valid UTF-8")
	f("bad escape", `"model":"a\qb"`, "1 b model: holds a malformed escape")
	f("long", `"model":"`+strings.Repeat("m", 1025)+`"`, "1 b model: has 1025 bytes, at most 1024 are allowed")
	f("attempt", `"attempt":-1`, "1 b attempt: is out of range (-1); want a non-negative integer")
	f("status", `"status":4294967296`, "1 b status: is out of range (4294967296); want a non-negative integer")
	f("seconds", `"end_us":1`, "")
	f("deep", `"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100), "1 b x: nests deeper than 64 levels")
	f("deep in place", `"chunks":`+strings.Repeat(`{"t":`, 100)+"1"+strings.Repeat("}", 100), "1 b chunks.t: is an object; want an array\n1 b chunks.t: nests deeper than 64 levels")
	f("missing comma", `"model":"a" "route":"b"`, `1 b (item): has '"' at byte 110; want a comma or '}'`)
	f("leading zero", ch(`"t":[01]`), "1 b chunks.t[0]: holds a malformed number at byte 113")
	f("two problems", `"model":5,"chunks":{"t":["x"]}`, "1 b model: is a number; want a string\n1 b chunks.t[0]: is a string; want an integer number of µs")
	f("cache_hit", `"cache_hit":"most"`, `1 b cache_hit: is "most"; want none, partial or full`)
	f("cache_hit's level", `"cache_hit":{"result":"full","level":"a\u0000b"}`, `1 b cache_hit.level: holds a NUL byte at 1`)
	f("cache_hit's result", `"cache_hit":{"result":"most"}`, `1 b cache_hit.result: is "most"; want none, partial or full`)
	f("cache_level", `"cache_level":"a\u0000b"`, `1 b cache_level: holds a NUL byte at 1`)
	f("other name", `"ttfb_us":-5`, `1 b ttfb_us: is negative (-5)`)
	f("message", `"error":"Bob's request timed out"`, "")
	f("trace", `"trace_id":"xyz"`, `1 b trace_id: is "xyz"; want 32 lower-case hex digits`)
	f("aliases", `"aliases":["a",1]`, `1 b aliases[1]: is a number; want a string`)
	f("many aliases", `"aliases":["a"`+strings.Repeat(`,"a"`, 100)+`]`, `1 b aliases: has more than 64 entries`)
}

func TestDecodeStreamBodies(t *testing.T) {
	f := func(name, body string, ndjson bool, ids, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			o := options()
			o.NDJSON = ndjson
			items, errs := wire.DecodeStreams([]byte(body), o)
			var got []string
			for _, s := range items {
				got = append(got, s.RequestID)
			}
			require.Equal(t, ids, strings.Join(got, " "))
			require.Equal(t, want, strings.TrimSuffix(problems(errs), "\n"))
		})
	}
	a, b, c := rec("a", ""), rec("b", ""), rec("c", "")
	f("one", a, false, "a", "")
	f("byte order mark", "\xef\xbb\xbf"+a, false, "a", "")
	f("array", " [ "+a+" ,\n"+b+" ] ", false, "a b", "")
	f("no items", "[]", false, "", "")
	f("empty", " \n", false, "", "0  (body): is empty; want a JSON object, an array of objects, or one object on each line")
	f("concatenated", a+b+"\n"+c, false, "a b c", "")
	f("lines", a+"\n\n"+b+"\r\n"+c+"\n", true, "a b c", "")
	f("bad line", a+"\n{\"request_id\":\"x\",\n"+c, true, "a c", "1 x (item): ends early, at byte 67; want a value after the comma")
	f("cut line as JSON", a+"\n{\"request_id\":\"x\",\n"+c, false, "a c", "1 x (item): has '{' at byte 68; want a field name")
	f("unclosed string", a+"\n{\"request_id\":\"x\n"+c+"\n"+b, false, "a c b", "1  request_id: holds a raw control character; want it escaped\n1  (item): has 'r' at byte 68; want a comma or '}'")
	f("garbage line", a+"\nhello\n"+c, true, "a c", "1  (item): is not a JSON value; want an object\n1  (item): has 'h' at byte 49; want a JSON value")
	f("scalar", `7`, false, "", "0  (item): is a number; want an object")
	f("scalar in array", "["+a+",7,"+b+"]", false, "a b", "1  (item): is a number; want an object")
	f("cut array", "["+a+","+b+`,{"request_id":"c","chu`, false, "a b", "2 c (item): holds a string that is not closed, from byte 117")
	f("array not closed", "["+a+","+b, false, "a b", "2  (body): the array of items ends early, at byte 98; want a comma or ']'")
	f("broken item in array", "["+a+`,{"request_id":"x",]},`+b+"]", false, "a b", "1 x (item): has ']' at byte 68; want a field name")
	f("words that begin like null, true and false", a+"\nnot json\ntry\nfail\n"+c, true, "a c", ""+
		"1  (item): is not a JSON value; want an object\n1  (item): has 'n' at byte 49; want a JSON value\n"+
		"2  (item): is not a JSON value; want an object\n2  (item): has 't' at byte 58; want a JSON value\n"+
		"3  (item): is not a JSON value; want an object\n3  (item): has 'f' at byte 62; want a JSON value")
	f("null, true and false", "null\ntrue\nfalse\n"+a, true, "a", "0  (item): is null; want an object\n"+
		"1  (item): is true; want an object\n2  (item): is false; want an object")
	f("HTML", "<html>", false, "", "0  (item): is not a JSON value; want an object\n0  (item): has '<' at byte 0; want a JSON value")
	f("not text", "\x00\x01\x02", false, "", "0  (item): is not a JSON value; want an object\n0  (item): has '\\x00' at byte 0; want a JSON value")
}

func TestDecodeStreamSegments(t *testing.T) {
	f := func(extra string, seq uint32, final bool) {
		t.Helper()
		items, errs := wire.DecodeStreams([]byte(rec("a", extra)), options())
		require.Empty(t, problems(errs))
		require.Equal(t, seq, items[0].Seq)
		require.Equal(t, final, items[0].Final)
	}
	f("", 0, true)
	f(`"seq":0`, 0, false)
	f(`"seq":3,"final":true`, 3, true)
	f(`"final":false`, 0, false)
	f(`"final":null,"seq":null`, 0, true)
}

func TestDecodeStreamLimits(t *testing.T) {
	o := options()
	o.MaxItems = 2
	items, errs := wire.DecodeStreams([]byte(rec("a", "")+rec("b", "")+rec("c", "")), o)
	require.Len(t, items, 2)
	require.Equal(t, "2  (body): holds more than 2 items; split the batch\n", problems(errs))

	o = options()
	o.Limits.MaxChunks = 3
	for _, array := range []string{`"t":[1,2,3,4]`, `"t":[1,2,3],"kind":["content","content","content","content"]`} {
		items, errs = wire.DecodeStreams([]byte(rec("a", `"chunks":{`+array+`}`)), o)
		require.Empty(t, items)
		require.Contains(t, problems(errs), "has more than 3 entries")
	}
}

func TestErrorClass(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "timeout": "timeout", "http_500": "http_500", "Read timed out after 30s": "timeout",
		"Bob's secret": wire.ClassOther, strings.Repeat("a", 65): wire.ClassOther, "TypeError: Failed to fetch": "network",
		"openai.APIConnectionError": "openai.APIConnectionError",
	} {
		require.Equal(t, want, wire.ErrorClass(in), in)
	}
}

func BenchmarkDecodeStreams(b *testing.B) {
	const n = 200
	one := func() []byte {
		var w bytes.Buffer
		w.WriteString(`{"request_id":"0b6a8c1e-7f1e-4d7b-9c1f-0e6b5c2a1d3f","emitter":"tap","provider":"vllm","deployment":"pool-a","model":"llama-3.1-8b","route":"/v1/chat/completions","started_at":1760000000000000,"queue_us":1200,"prefill_us":53000,"output_tokens":200,"finish_reason":"stop","chunks":{"dt":[`)
		for i := range n {
			if i > 0 {
				w.WriteByte(',')
			}
			fmt.Fprint(&w, 12000+i*7919%40000)
		}
		w.WriteString(`],"bytes":[`)
		for i := range n {
			if i > 0 {
				w.WriteByte(',')
			}
			fmt.Fprint(&w, 1+i%9)
		}
		w.WriteString(`],"tokens":[1` + strings.Repeat(",1", n-1) + `]}}`)
		return w.Bytes()
	}()
	body := bytes.Repeat(append(one, '\n'), 100)
	o := options()
	o.NDJSON = true
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		wire.EachStream(body, o, func(_ int, _ *wire.Stream, err *wire.ItemError) {
			if err != nil {
				b.Fatal(err)
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/100, "ns/chunk")
}
