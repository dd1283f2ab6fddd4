package llmstream_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/llmstream"
)

// FuzzParser holds what must be true for any bytes: no panic, no event with more text than bytes, texts are
// UTF-8, content-bearing kinds have text, a split changes nothing.
func FuzzParser(f *testing.F) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		tr := readTranscript(f, file)
		f.Add(tr.contentType, tr.body, 13)
	}
	f.Add("application/json", []byte(`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},`), 1)
	f.Add("application/x-ndjson", []byte("{\"response\":\"a\",\"done\":false}\n{\"response\":\"\n{"), 2)
	f.Fuzz(func(t *testing.T, contentType string, body []byte, at int) {
		opt := llmstream.Options{ContentType: contentType, MaxEventBytes: 4096, CreatedAt: true}
		events, info := parse(opt, body)
		for _, e := range events {
			require.Len(t, e.Text, int(e.Bytes))
			require.True(t, utf8.ValidString(e.Text))
			require.Equal(t, e.Kind.ContentBearing(), e.Bytes > 0)
		}
		require.GreaterOrEqual(t, info.Frames, info.Malformed)
		if at > 0 && at < len(body) {
			again, infoAgain := parse(opt, body[:at], body[at:])
			require.Equal(t, events, again)
			require.Equal(t, info, infoAgain)
		}
	})
}

// FuzzText compares string decoding with encoding/json.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a", "é", `"`, "\\", "\u2028", "🚀", "\x00", "\ud7ff", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := json.Marshal(s)
		require.NoError(t, err)
		var want string
		require.NoError(t, json.Unmarshal(q, &want))
		body := append(append([]byte(`{"choices":[{"index":0,"delta":{"content":`), q...), `}}]}`...)
		events, _ := parse(llmstream.Options{}, body)
		require.Len(t, events, 1)
		require.Equal(t, want, events[0].Text)
		silent := llmstream.New(llmstream.Options{}, func(e *llmstream.Event) { require.Len(t, want, int(e.Bytes)) })
		_, _ = silent.Write(body)
	})
}

// FuzzRequest compares the request scanner with encoding/json on bodies that both can read.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"x\"model\":\"y"}],"max_tokens":5,"n":2,"stream":true}`), 3)
	f.Add([]byte(`{"tools":[{"model":"no"}],"stream":false,"model":"a\u00e9"}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, step int) {
		var s llmstream.RequestScanner
		s.Reset(0)
		for _, b := range cut(body, max(1, step)) {
			_, _ = s.Write(b)
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(body, &m) != nil || m == nil || !utf8.Valid(body) {
			return
		}
		var want string
		if json.Unmarshal(m["model"], &want) == nil && len(m["model"]) < 200 && countKey(body, "model") == 1 {
			require.Equal(t, want, s.Request().Model)
		}
	})
}

// countKey counts how often a key is written at the top level, in any spelling that has the word in it.
func countKey(body []byte, key string) int {
	n := 0
	for i := 0; i+len(key) <= len(body); i++ {
		if string(body[i:i+len(key)]) == key {
			n++
		}
	}
	return n
}
