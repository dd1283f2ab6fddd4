package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/replay"
	"github.com/fermata-io/fermata/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func file(t testing.TB, name, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(p, []byte(content), 0o600))
	return p
}

// read reads a file and checks what must hold for every record.
func read(t testing.TB, path string, opt replay.Options) ([]replay.Record, replay.Report) {
	t.Helper()
	src, err := replay.Open(path)
	require.NoError(t, err)
	var recs []replay.Record
	rep, err := replay.Read(context.Background(), src, opt, func(r replay.Record) error {
		recs = append(recs, r)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, recs, rep.Records)
	ids := map[string]bool{}
	for _, r := range recs {
		if r.Stream == nil {
			continue
		}
		require.NoError(t, r.Stream.Validate(time.Now(), wire.NewDefaultLimits()))
		key := fmt.Sprint(r.Stream.RequestID, r.Stream.StartedAt)
		require.False(t, ids[key], "%s twice", key)
		ids[key] = true
	}
	return recs, rep
}

func streams(t testing.TB, path string, opt replay.Options) []*wire.Stream {
	t.Helper()
	recs, _ := read(t, path, opt)
	var out []*wire.Stream
	for _, r := range recs {
		require.NotNil(t, r.Stream)
		out = append(out, r.Stream)
	}
	return out
}

const vllmSample = `{"date": "20260616-091051", "backend": "openai-chat", "label": null, "model_id": "Qwen/Q", "duration": 2.0,
"request_rate": "inf", "request_goodput": null, "mean_ttft_ms": NaN, "input_lens": [10, 11, 12], "output_lens": [3, 4, 0],
"ttfts": [0.5, 0.0301234, 0.0], "itls": [[0.010, 0.0200004], [0.011, 0.012, 0.013, 1.5], []],
"start_times": [1463.5, 1463.25, 1464.0], "generated_texts": ["Infinity NaN \"x", "b", ""],
"errors": ["", "", "Traceback (most recent call last):\n  File \"x.py\"\naiohttp.client_exceptions.ClientPayloadError: the prompt was: secret"]}`

func TestVLLMBench(t *testing.T) {
	s := streams(t, file(t, "bench.json", vllmSample), replay.NewDefaultOptions())
	require.Len(t, s, 3)
	require.Equal(t, []int64{500_000, 510_000, 530_000}, s[0].Chunks.T)
	require.Equal(t, []uint32{1, 1, 1}, s[0].Chunks.Tokens, "as many events as tokens: one each")
	require.Equal(t, []int64{30_123, 41_123, 53_123, 66_123, 1_566_123}, s[1].Chunks.T)
	require.Nil(t, s[1].Chunks.Tokens, "five events and four tokens: not known which had none")
	require.Equal(t, wire.Some(int64(4)), s[1].OutputTokens)
	require.Equal(t, wire.Some(int64(11)), s[1].PromptTokens)
	require.Equal(t, "vllm_bench", s[0].Reported.Definition)
	require.Equal(t, "Qwen/Q", s[0].Model)
	require.Equal(t, "vllm_bench", s[0].Emitter)
	require.Equal(t, wire.Some(int64(530_000)), s[0].EndUS)

	// The process's own clock: the earliest request is at the file's date less the duration.
	begin := time.Date(2026, 6, 16, 9, 10, 49, 0, time.UTC).UnixMicro()
	require.Equal(t, begin, s[1].StartedAt)
	require.Equal(t, begin+250_000, s[0].StartedAt)

	require.Equal(t, "ClientPayloadError", s[2].ErrorType, "the class, not the text")
	require.Zero(t, s[2].Chunks.Len())
	for _, x := range s {
		require.Nil(t, x.Chunks.Text)
	}
}

func TestVLLMBenchStartTimes(t *testing.T) {
	epoch := strings.Replace(vllmSample, "[1463.5, 1463.25, 1464.0]", "[1781600000.5, 1781600000.25, 1781600001]", 1)
	s := streams(t, file(t, "bench.json", epoch), replay.NewDefaultOptions())
	require.Equal(t, int64(1_781_600_000_500_000), s[0].StartedAt)

	none := strings.Replace(vllmSample, `"start_times": [1463.5, 1463.25, 1464.0], `, "", 1)
	recs, rep := read(t, file(t, "bench.json", none), replay.NewDefaultOptions())
	begin := time.Date(2026, 6, 16, 9, 10, 49, 0, time.UTC).UnixMicro()
	require.Equal(t, begin, recs[0].Stream.StartedAt)
	require.Equal(t, begin+2*666_667, recs[2].Stream.StartedAt)
	require.Contains(t, strings.Join(rep.Notes, "\n"), "no start_times")

	// Two results appended to one file.
	require.Len(t, streams(t, file(t, "bench.json", vllmSample+"\n"+vllmSample), replay.NewDefaultOptions()), 6)
}

func TestAIPerf(t *testing.T) {
	const sample = `{"metadata":{"x_request_id":"req-1","request_start_ns":1762551534797067827,"request_ack_ns":1762551534807258440,"request_end_ns":1762551535897067827,"was_cancelled":false,"cancellation_time_ns":null},"metrics":{"time_to_first_token":{"value":31.7429,"unit":"ms"},"time_to_first_output_token":{"value":50.1,"unit":"ms"},"inter_chunk_latency":{"value":[18.0,0.3571,1000.0],"unit":"ms"},"output_sequence_length":{"value":9,"unit":"tokens"},"usage_completion_tokens":{"value":4,"unit":"tokens"},"input_sequence_length":{"value":100,"unit":"tokens"},"request_latency":{"value":1100,"unit":"ms"},"inter_token_latency":{"value":339.4,"unit":"ms"}},"error":null}
{"metadata":{"x_request_id":"id with spaces","timestamp_ns":1759522419158355424,"credit_phase":"profiling"},"metrics":{"ttft":{"value":3.340543979,"unit":"s"},"inter_chunk_latency":{"value":[139.0],"unit":"ms"},"output_token_count":{"value":2,"unit":"tokens"}}}
not json
{"metadata":{"x_request_id":"req-3","request_start_ns":1762551534797067827,"request_end_ns":1762551534997067827},"metrics":{},"error":{"error_code":503,"error_type":"Service Unavailable","message":"user said: hello"}}
{"metadata":{"x_request_id":"req-4","request_start_ns":1762551534797067827,"was_cancelled":true,"cancellation_time_ns":1762551534997067827,"request_end_ns":1762551534997067900},"metrics":{"time_to_first_token":{"value":100,"unit":"ms"},"inter_chunk_latency":{"value":[],"unit":"ms"}},"error":{"code":499,"type":"RequestCancellationError","message":"x"}}
{"metadata":{"x_request_id":"req-5","request_start_ns":1762551534},"metrics":{}}
`
	recs, rep := read(t, file(t, "profile_export.jsonl", sample), replay.NewDefaultOptions())
	require.Equal(t, "aiperf", rep.Format)
	require.Equal(t, 2, rep.Skipped)
	require.Contains(t, strings.Join(rep.Reasons, "\n"), "line 3: not a record of AIPerf")
	require.Contains(t, strings.Join(rep.Reasons, "\n"), "line 6: metadata.request_start_ns")
	require.Len(t, recs, 4)

	s := recs[0].Stream
	require.Equal(t, "req-1", s.RequestID)
	require.Equal(t, int64(1762551534797067), s.StartedAt)
	require.Equal(t, []int64{31_743, 49_743, 50_100, 1_050_100}, s.Chunks.T)
	require.Equal(t, []wire.Kind{wire.KindReasoning, wire.KindReasoning, wire.KindContent, wire.KindContent}, s.Chunks.Kind)
	require.Equal(t, wire.Some(int64(4)), s.OutputTokens, "the server's usage goes before AIPerf's own count")
	require.Equal(t, []uint32{1, 1, 1, 1}, s.Chunks.Tokens)
	require.Equal(t, wire.Some(int64(10_190)), s.HeadersUS)
	require.Equal(t, wire.Some(int64(1_100_000)), s.EndUS)
	require.Equal(t, wire.Reported{
		Definition: "aiperf", TTFTUS: wire.Some(int64(31_743)), TTFAUS: wire.Some(int64(50_100)),
		ITLMeanUS: wire.Some(int64(339_400)), E2EUS: wire.Some(int64(1_100_000)),
	}, s.Reported)

	s = recs[1].Stream // older keys, an id that can't be one, seconds
	require.True(t, strings.HasPrefix(s.RequestID, "aiperf-"), s.RequestID)
	require.Equal(t, []string{"id with spaces"}, s.Aliases)
	require.Equal(t, []int64{3_340_544, 3_479_544}, s.Chunks.T)

	s = recs[2].Stream
	require.Equal(t, "http_503", s.ErrorType)
	require.Equal(t, int32(503), s.Status)

	s = recs[3].Stream
	require.Equal(t, "client_abort", s.FinishReason)
	require.Empty(t, s.ErrorType)
	require.Equal(t, wire.Some(int64(200_000)), s.EndUS)
}

func TestGuideLLM(t *testing.T) {
	const sample = `{"metadata": {}, "benchmarks": [{"requests": {
"successful": [{"request_id": "g-1", "response_id": "chatcmpl-1", "request_args": "{\"body\":{\"model\":\"m1\"}}",
  "info": {"timings": {"request_start": 1795966385.5, "request_end": 1795966386.0}}, "prompt_tokens": 5, "output_tokens": 20,
  "time_to_first_token_ms": 23.4408, "inter_token_latency_ms": 22.1, "time_per_output_token_ms": 22.2, "request_latency": 0.5},
 {"request_id": "g-2", "start_time": 1795966385.0, "end_time": 1795966386.0, "first_token_time": 1795966385.25, "output_tokens": 3,
  "request_args": {"payload": {"model": "m2"}}}],
"errored": [{"request_id": "g-3", "scheduler_info": {"request_timings": {"request_start": 1795966385.0}, "error": "ReadTimeout: it took long"}}],
"incomplete": [{"request_id": "g-4", "info": {"timings": {"request_start": 1795966385.0}}}, {"request_id": "g-5", "info": {"timings": {}}}],
"total": null}}]}`
	recs, rep := read(t, file(t, "benchmarks.json", sample), replay.NewDefaultOptions())
	require.Equal(t, "guidellm", rep.Format)
	require.Equal(t, 1, rep.Skipped)
	require.Len(t, recs, 4)
	for _, r := range recs {
		require.Zero(t, r.Stream.Chunks.Len(), "interpolated token times are no chunk times")
		require.Equal(t, "guidellm", r.Stream.Reported.Definition)
	}
	s := recs[0].Stream
	require.Equal(t, "g-1", s.RequestID)
	require.Equal(t, "chatcmpl-1", s.ResponseID)
	require.Equal(t, "m1", s.Model)
	require.Equal(t, int64(1_795_966_385_500_000), s.StartedAt)
	require.Equal(t, wire.Some(int64(500_000)), s.EndUS)
	require.Equal(t, wire.Some(int64(23_441)), s.Reported.TTFTUS)
	require.Equal(t, wire.Some(int64(22_200)), s.Reported.TPOTUS)
	require.Equal(t, wire.Some(int64(250_000)), recs[1].Stream.Reported.TTFTUS, "older files: from first_token_time")
	require.Equal(t, "m2", recs[1].Stream.Model)
	require.Equal(t, "ReadTimeout", recs[2].Stream.ErrorType)
	require.Equal(t, "client_abort", recs[3].Stream.FinishReason)
}

func TestLLMPerf(t *testing.T) {
	const sample = `[{"error_code": null, "error_msg": "", "inter_token_latency_s": 0.0978, "ttft_s": 1.2584, "end_to_end_latency_s": 12.53, "number_output_tokens": 128, "number_input_tokens": 550},
{"error_code": 429, "error_msg": "rate limited: key sk-abc", "inter_token_latency_s": 0, "ttft_s": 0, "end_to_end_latency_s": 0, "number_output_tokens": 0, "number_input_tokens": 550}]`
	s := streams(t, file(t, "individual.json", sample), replay.NewDefaultOptions())
	require.Len(t, s, 2)
	require.Equal(t, wire.Reported{
		Definition: "llmperf", TTFTUS: wire.Some(int64(1_258_400)), ITLMeanUS: wire.Some(int64(97_800)), E2EUS: wire.Some(int64(12_530_000)),
	}, s[0].Reported)
	require.Equal(t, wire.Some(int64(128)), s[0].OutputTokens)
	require.Zero(t, s[0].Chunks.Len())
	require.Equal(t, "http_429", s[1].ErrorType)
	require.Equal(t, int32(429), s[1].Status)
	require.Empty(t, s[1].Reported.Definition, "zeros of a failed request are no measurements")
	require.Equal(t, s[0].StartedAt+12_530_000, s[1].StartedAt)
}

func TestTraces(t *testing.T) {
	azure := file(t, "azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2024-05-10 00:00:00.009930+00:00,100,0\nnever,1,2\n2023-11-16 18:17:04.0319600,3180,8.0\n")
	recs, rep := read(t, azure, replay.NewDefaultOptions())
	require.Equal(t, "azure_trace", rep.Format)
	require.Equal(t, 1, rep.Skipped)
	require.Equal(t, 18, rep.Chunks)
	s := recs[0].Stream
	require.True(t, s.Synthetic)
	require.Equal(t, time.Date(2023, 11, 16, 18, 17, 3, 979_960_000, time.UTC).UnixMicro(), s.StartedAt)
	require.Equal(t, wire.Some(int64(4808)), s.PromptTokens)
	require.Len(t, s.Chunks.T, 10)
	require.Zero(t, recs[1].Stream.Chunks.Len())

	mooncake := file(t, "m.jsonl", `{"timestamp": 0, "input_length": 6758, "output_length": 3, "hash_ids": [0, 1]}`+"\n"+`{"timestamp": 1500.5, "input_length": 10, "output_length": 2, "hash_ids": []}`+"\n"+`{"timestamp": -1, "input_length": 10, "output_length": 2}`+"\n")
	recs, rep = read(t, mooncake, replay.NewDefaultOptions())
	require.Equal(t, "mooncake", rep.Format)
	require.Equal(t, 1, rep.Skipped)
	require.Equal(t, int64(1_500_500), recs[1].Stream.StartedAt-recs[0].Stream.StartedAt)

	// Without jitter the stated model is exact.
	opt := replay.NewDefaultOptions()
	opt.Pacing = replay.Pacing{TTFTBase: 100 * time.Millisecond, TTFTPer1K: 50 * time.Millisecond, ITL: 20 * time.Millisecond}
	opt.Model = "m"
	got := streams(t, mooncake, opt)
	require.Equal(t, []int64{437_900, 457_900, 477_900}, got[0].Chunks.T)
	require.Equal(t, "m", got[0].Model)
	require.NotEqual(t, recs[0].Stream.RequestID, got[0].RequestID, "another model of times is another recording")
}

func TestReadTwiceGivesTheSame(t *testing.T) {
	for name, content := range map[string]string{
		"bench.json": vllmSample,
		"azure.csv":  "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n",
	} {
		a := streams(t, file(t, name, content), replay.NewDefaultOptions())
		b := streams(t, file(t, "renamed-"+name, content), replay.NewDefaultOptions())
		require.Equal(t, a, b, "ids and times come from the content")
	}
}

func TestStartMovesTheFile(t *testing.T) {
	opt := replay.NewDefaultOptions()
	opt.Start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	before := streams(t, file(t, "bench.json", vllmSample), replay.NewDefaultOptions())
	after := streams(t, file(t, "bench.json", vllmSample), opt)
	require.Equal(t, opt.Start.UnixMicro(), after[0].StartedAt)
	for i := range after {
		require.Equal(t, before[i].StartedAt-before[0].StartedAt, after[i].StartedAt-after[0].StartedAt)
	}
}

func TestGzip(t *testing.T) {
	plain := file(t, "bench.json", vllmSample)
	packed := filepath.Join(t.TempDir(), "bench.json.gz")
	f, err := os.Create(packed)
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(vllmSample))
	require.NoError(t, err)
	require.NoError(t, errors.Join(z.Close(), f.Close()))
	require.Equal(t, streams(t, plain, replay.NewDefaultOptions()), streams(t, packed, replay.NewDefaultOptions()))
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct{ content, format, want string }{
		"empty.json":   {"  \n", "auto", "is empty"},
		"notes.md":     {"# Notes\nnothing here", "auto", "looks like none of vllm_bench"},
		"m.txt":        {"# HELP a b\n# TYPE a counter\na 1\n", "auto", "is a Prometheus exposition"},
		"summary.json": {`{"results_number_errors": 0}`, "auto", "is LLMPerf's summary"},
		"bench.json":   {`{"mean_ttft_ms": 1, "p99_itl_ms": 2}`, "auto", "--save-detailed"},
		"x.json":       {"{}", "nonsense", "want auto or one of"},
		"cut.json":     {vllmSample[:300], "auto", "unexpected EOF"},
		"wrong.json":   {`{"ttfts": "fast", "itls": []}`, "auto", "ttfts is a string"},
		"head.csv":     {"TIMESTAMP,ContextTokens\n1,2\n", "azure_trace", "lacks TIMESTAMP, ContextTokens or GeneratedTokens"},
		"t.txt":        {"# curl x\nhello\n", "transcript", "no HTTP status line"},
		"c.yaml":       {"interactions: [", "cassette", "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := replay.Open(file(t, name, tc.content))
			require.NoError(t, err)
			opt := replay.NewDefaultOptions()
			opt.Format = tc.format
			_, err = replay.Read(context.Background(), src, opt, func(replay.Record) error { return nil })
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := replay.Open(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEmitErrorStops(t *testing.T) {
	src, err := replay.Open(file(t, "bench.json", vllmSample))
	require.NoError(t, err)
	stop := errors.New("stop")
	n := 0
	_, err = replay.Read(context.Background(), src, replay.NewDefaultOptions(), func(replay.Record) error { n++; return stop })
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1, n)
}

func TestPacingValidate(t *testing.T) {
	require.NoError(t, replay.NewDefaultPacing().Validate())
	err := replay.Pacing{TTFTBase: -1, ITL: time.Hour, Jitter: 9}.Validate()
	for _, want := range []string{"--ttft-base-ms", "--itl-ms", "--jitter"} {
		require.ErrorContains(t, err, want)
	}
}
