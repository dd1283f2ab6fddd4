package replay

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// FormatAuto asks for the format to be told from the file.
const FormatAuto = "auto"

type format struct {
	name   string
	about  string
	detect func(name string, head []byte) bool
	read   func(*reader) error
}

// formats in the order in which they are tried.
var formats = []format{
	{"vllm_bench", "vllm bench serve --save-result --save-detailed (JSON)", detectVLLMBench, readVLLMBench},
	{"aiperf", "AIPerf profile_export.jsonl", detectAIPerf, readAIPerf},
	{"guidellm", "GuideLLM benchmarks JSON", detectGuideLLM, readGuideLLM},
	{"llmperf", "LLMPerf individual responses JSON", detectLLMPerf, readLLMPerf},
	{"mooncake", "Mooncake trace JSONL (arrivals and lengths only)", detectMooncake, readMooncake},
	{"azure_trace", "Azure LLM inference trace CSV (arrivals and lengths only)", detectAzure, readAzure},
	{"otlp_json", "OTLP/JSON exports, one document or one a line", detectOTLP, readOTLP},
	{"fermata", "bodies of /v1/chunks, /v1/gateway or /v1/rum, one a line", detectFermata, readFermata},
	{"litellm", "LiteLLM standard logging payloads: one, an array, or one a line", detectLiteLLM, readLiteLLM},
	{"sse_log", "event log with server and receive time of each event", detectSSELog, readSSELog},
	{"cassette", "VCR cassette with recorded LLM answers (YAML)", detectCassette, readCassette},
	{"transcript", "`curl -i` transcript of a streamed answer", detectTranscript, readTranscript},
	{"ollama", "Ollama stream recording: NDJSON, or JSON in Markdown", detectOllama, readOllama},
}

// Formats lists the names and what they stand for.
func Formats() [][2]string {
	out := make([][2]string, 0, len(formats))
	for _, f := range formats {
		out = append(out, [2]string{f.name, f.about})
	}
	return out
}

func names() string {
	var n []string
	for _, f := range formats {
		n = append(n, f.name)
	}
	return strings.Join(n, ", ")
}

func pick(src *Source, name string) (format, error) {
	if name != "" && name != FormatAuto {
		i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
		if i < 0 {
			return format{}, fmt.Errorf("%w %q; want auto or one of %s", ErrFormat, name, names())
		}
		return formats[i], nil
	}
	if why := refuse(src.name, src.head); why != "" {
		return format{}, fmt.Errorf("%w: %s %s", ErrFormat, src.name, why)
	}
	for _, f := range formats {
		if f.detect(src.name, src.head) {
			return f, nil
		}
	}
	return format{}, fmt.Errorf("%w: %s looks like none of %s; say which with --format", ErrFormat, src.name, names())
}

// refuse recognises files that lie beside the ones that can be replayed.
func refuse(name string, head []byte) string {
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return "is empty"
	case bytes.HasPrefix(head, []byte("# HELP ")) || bytes.HasPrefix(head, []byte("# TYPE ")):
		return "is a Prometheus exposition; it has no single requests"
	case has(head, `"results_number_errors"`) || has(head, `"num_completed_requests_per_min"`):
		return "is LLMPerf's summary; replay its …_individual_responses.json"
	case has(head, `"mean_ttft_ms"`) && !has(head, `"itls"`) && len(head) < sniffLen:
		return "is a vllm bench result without detail; run the benchmark with --save-detailed"
	case strings.HasPrefix(name, "profile_export_aiperf.") && filepath.Ext(name) == ".json":
		return "is AIPerf's summary; replay profile_export.jsonl"
	}
	return ""
}

func has(head []byte, s string) bool { return bytes.Contains(head, []byte(s)) }

// firstLine returns the first line that is not blank.
func firstLine(head []byte) []byte {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	return bytes.TrimSpace(head)
}

func detectVLLMBench(_ string, head []byte) bool {
	return firstByte(head) == '{' && (has(head, `"ttfts"`) || has(head, `"itls"`) ||
		has(head, `"request_throughput"`) && has(head, `"input_lens"`))
}

func firstByte(head []byte) byte {
	if l := firstLine(head); len(l) > 0 {
		return l[0]
	}
	return 0
}

var aiperfLine = regexp.MustCompile(`^\{.*"metadata"\s*:.*`)

func detectAIPerf(_ string, head []byte) bool {
	l := firstLine(head)
	return aiperfLine.Match(l) && (has(l, `"request_start_ns"`) || has(l, `"timestamp_ns"`)) && (has(l, `"metrics"`) || has(l, `"error"`))
}

func detectGuideLLM(_ string, head []byte) bool {
	return firstByte(head) == '{' && has(head, `"benchmarks"`)
}

func detectLLMPerf(_ string, head []byte) bool {
	return firstByte(head) == '[' && (has(head, `"ttft_s"`) || has(head, `"inter_token_latency_s"`))
}

func detectMooncake(_ string, head []byte) bool {
	l := firstLine(head)
	return firstByte(head) == '{' && has(l, `"timestamp"`) && has(l, `"input_length"`) && has(l, `"output_length"`)
}

func detectAzure(_ string, head []byte) bool {
	l := strings.ToLower(string(firstLine(head)))
	return strings.Contains(l, "timestamp") && strings.Contains(l, "contexttokens") && strings.Contains(l, "generatedtokens")
}

var otlpHead = regexp.MustCompile(`^\s*\{\s*"resource(Logs|Spans)"`)

func detectOTLP(_ string, head []byte) bool { return otlpHead.Match(head) }

var sseLogLine = regexp.MustCompile(`(?m)^\d+\. \[\S+Z\] recv=\S+Z step=`)

func detectSSELog(_ string, head []byte) bool { return sseLogLine.Match(head) }

func detectCassette(_ string, head []byte) bool {
	return bytes.HasPrefix(firstLine(head), []byte("interactions:"))
}

var transcriptHead = regexp.MustCompile(`(?m)\A(#[^\n]*\n)?HTTP/[0-9.]+ [0-9]{3}`)

func detectTranscript(_ string, head []byte) bool { return transcriptHead.Match(head) }

func detectOllama(_ string, head []byte) bool {
	return has(head, `"created_at"`) && has(head, `"done"`) && has(head, `"model"`)
}

func detectFermata(_ string, head []byte) bool {
	l := firstLine(head)
	return firstByte(head) == '{' && nativePath(l) != ""
}

func detectLiteLLM(_ string, head []byte) bool {
	b := firstByte(head)
	return (b == '{' || b == '[') && has(head, `"completionStartTime"`) && has(head, `"call_type"`)
}
