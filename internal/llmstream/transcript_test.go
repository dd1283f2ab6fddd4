package llmstream_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// expected is what testdata/count.py found in a transcript.
type expected struct {
	Kinds        map[string]int
	Bytes        map[string]int
	Text         string
	Tokens       *uint32
	ResponseID   string `json:"response_id"`
	Model        string
	FinishReason string `json:"finish_reason"`
	StopReason   string `json:"stop_reason"`
	Error        string
	PromptTokens *int64 `json:"prompt_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
	CachedTokens *int64 `json:"cached_tokens"`
	PrefillUS    *int64 `json:"prefill_us"`
	DecodeUS     *int64 `json:"decode_us"`
}

// transcript is one recorded answer: the request's path, the response's head and its body.
type transcript struct {
	path, contentType string
	body              []byte
}

var (
	requestLine = regexp.MustCompile(`127\.0\.0\.1:\d+(/\S*)`)
	typeLine    = regexp.MustCompile(`(?i)\r\ncontent-type: ([^\r]*)`)
)

func readTranscript(t testing.TB, file string) transcript {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	head, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	require.True(t, ok, "no head in %s", file)
	tr := transcript{body: body}
	if m := requestLine.FindSubmatch(head); m != nil {
		tr.path = string(m[1])
	}
	if m := typeLine.FindSubmatch(head); m != nil {
		tr.contentType = string(m[1])
	}
	return tr
}

// event is an Event that outlives the sink.
type event struct {
	llmstream.Event
	Text string
}

func parse(opt llmstream.Options, pieces ...[]byte) ([]event, llmstream.Info) {
	var out []event
	opt.Text = true
	p := llmstream.New(opt, func(e *llmstream.Event) {
		c := event{Event: *e, Text: string(e.Text)}
		c.Event.Text = nil
		out = append(out, c)
	})
	for _, b := range pieces {
		_, _ = p.Write(b)
	}
	p.Close()
	return out, *p.Info()
}

func TestTranscripts(t *testing.T) {
	raw, err := os.ReadFile("testdata/expected.json")
	require.NoError(t, err)
	var all map[string]expected
	require.NoError(t, json.Unmarshal(raw, &all))
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	require.NoError(t, err)
	require.Len(t, files, len(all), "run testdata/count.py after adding a transcript")
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			want := all[name]
			tr := readTranscript(t, file)
			events, info := parse(llmstream.Options{Path: tr.path, ContentType: tr.contentType}, tr.body)
			got := expected{Kinds: map[string]int{}, Bytes: map[string]int{}}
			tokens, known := uint32(0), false
			for _, e := range events {
				k := e.Kind.String()
				got.Kinds[k]++
				if e.Kind.ContentBearing() {
					got.Bytes[k] += int(e.Bytes)
				}
				require.Len(t, e.Text, int(e.Bytes))
				got.Text += e.Text
				known = known || e.TokensKnown
				tokens += e.Tokens
			}
			if known {
				got.Tokens = &tokens
			}
			got.ResponseID, got.Model, got.Error = info.ResponseID, info.Model, info.ErrorType
			got.FinishReason, got.StopReason = info.FinishReason, info.StopReason
			got.PromptTokens, got.OutputTokens = ptr(info.PromptTokens), ptr(info.OutputTokens)
			got.CachedTokens = ptr(info.CachedTokens)
			got.PrefillUS, got.DecodeUS = ptr(info.PrefillUS), ptr(info.DecodeUS)
			require.Equal(t, want, got)
			require.Zero(t, info.Malformed)
			require.False(t, info.Truncated)
		})
	}
}

func ptr(o wire.Opt[int64]) *int64 {
	if !o.OK {
		return nil
	}
	return &o.V
}
