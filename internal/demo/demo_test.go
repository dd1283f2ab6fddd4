package demo_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/demo"
	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type answer struct {
	status int
	header http.Header
	text   map[wire.Kind]string
	kinds  []wire.Kind
	info   llmstream.Info
	err    error
}

// ask sends a request to a model that waits for nothing and reads its answer as the tap would.
func ask(t *testing.T, path, body string, header ...string) answer {
	t.Helper()
	srv := httptest.NewServer(demo.NewHandler(demo.Config{}))
	defer srv.Close()
	req, err := http.NewRequest(http.MethodPost, srv.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode, header: res.Header, text: map[wire.Kind]string{}}
	p := llmstream.New(llmstream.Options{Path: path, ContentType: res.Header.Get("Content-Type"), Text: true}, func(e *llmstream.Event) {
		a.kinds = append(a.kinds, e.Kind)
		a.text[e.Kind] += string(e.Text)
	})
	_, a.err = io.Copy(p, res.Body)
	p.Close()
	a.info = *p.Info()
	require.Zero(t, a.info.Malformed)
	return a
}

func (a *answer) count(k wire.Kind) int {
	n := 0
	for _, v := range a.kinds {
		if v == k {
			n++
		}
	}
	return n
}

func TestProtocols(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"Tell me about rests"}]`
	for name, c := range map[string]struct {
		path, body string
		dialect    llmstream.Dialect
		finish     string
	}{
		"openai":           {"/v1/chat/completions", `{"model":"demo","stream":true,"stream_options":{"include_usage":true},"max_tokens":30,` + messages + `}`, llmstream.DialectOpenAIChat, "length"},
		"openai, whole":    {"/v1/chat/completions", `{"model":"demo","max_tokens":30,` + messages + `}`, llmstream.DialectOpenAIChat, "length"},
		"anthropic":        {"/v1/messages", `{"model":"demo","stream":true,"max_tokens":30,` + messages + `}`, llmstream.DialectAnthropic, "max_tokens"},
		"anthropic, whole": {"/v1/messages", `{"model":"demo","max_tokens":30,` + messages + `}`, llmstream.DialectAnthropic, "max_tokens"},
		"ollama":           {"/api/chat", `{"model":"demo","options":{"num_predict":30},` + messages + `}`, llmstream.DialectOllama, "length"},
		"ollama, whole":    {"/api/chat", `{"model":"demo","stream":false,"options":{"num_predict":30},` + messages + `}`, llmstream.DialectOllama, "length"},
		"ollama generate":  {"/api/generate", `{"model":"demo","options":{"num_predict":30},"prompt":"x"}`, llmstream.DialectOllama, "length"},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, c.path, c.body)
			require.NoError(t, a.err)
			require.Equal(t, http.StatusOK, a.status)
			require.Equal(t, c.dialect, a.info.Dialect)
			require.Equal(t, c.finish, a.info.FinishReason)
			require.Equal(t, "demo", a.info.Model)
			require.EqualValues(t, 30, a.info.OutputTokens.V)
			require.Positive(t, a.info.PromptTokens.V)
			require.True(t, a.info.Complete())
			want := 30
			if strings.Contains(name, "whole") {
				want = 1
			}
			require.Equal(t, want, a.count(wire.KindContent))
			require.Greater(t, len(a.text[wire.KindContent]), 60)
			again := ask(t, c.path, c.body)
			require.Equal(t, a.text, again.text, "the same ask gives the same text")
			other := ask(t, c.path, strings.Replace(c.body, `"model"`, `"seed":7,"model"`, 1))
			require.NotEqual(t, a.text, other.text)
		})
	}
}

func TestFaults(t *testing.T) {
	body := func(fault string) string { return `{"model":"demo-` + fault + `","stream":true,"max_tokens":200}` }
	const path = "/v1/chat/completions"

	a := ask(t, path, body("loop"))
	require.Equal(t, 200, a.count(wire.KindContent))
	require.Equal(t, "length", a.info.FinishReason)
	text := a.text[wire.KindContent]
	tail := text[len(text)-40:]
	require.Greater(t, strings.Count(text, tail), 8, "the end repeats: %q", tail)

	a = ask(t, path, body("error"))
	require.Equal(t, "server_error", a.info.ErrorType)
	require.False(t, a.info.Done)

	a = ask(t, path, body("cut"))
	require.ErrorIs(t, a.err, io.ErrUnexpectedEOF)

	a = ask(t, path, body("think"))
	require.Positive(t, a.count(wire.KindReasoning))
	require.Positive(t, a.count(wire.KindContent))

	require.Equal(t, http.StatusInternalServerError, ptr(ask(t, path, body("http-500"))).status)
	a = ask(t, path, body("overload"))
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.NotEmpty(t, a.header.Get("Retry-After"))

	a = ask(t, path, `{"fault":"error","stream":true}`)
	require.True(t, a.info.Error, "chosen by field")
	a = ask(t, path, `{"stream":true}`, "X-Demo-Fault", "error")
	require.True(t, a.info.Error, "chosen by header")
	a = ask(t, path, `{"fault":"no-such","stream":true}`)
	require.Equal(t, http.StatusBadRequest, a.status)
	a = ask(t, "/v1/messages", body("error"))
	require.Equal(t, "overloaded_error", a.info.ErrorType)
	for _, broken := range []string{``, `{`, `[]`, `{"max_tokens":"x"}`} {
		require.Equal(t, http.StatusBadRequest, ptr(ask(t, path, broken)).status, broken)
	}
}

func ptr(a answer) *answer { return &a }

// The faults that are only in the times show in the times of the script.
func TestPace(t *testing.T) {
	for fault, want := range map[string]struct{ longest, first time.Duration }{
		"":           {200 * time.Millisecond, 300 * time.Millisecond},
		"stall":      {3 * time.Second, 300 * time.Millisecond},
		"slow-start": {200 * time.Millisecond, 4 * time.Second},
		"stutter":    {time.Second, 300 * time.Millisecond},
		"burst":      {800 * time.Millisecond, 300 * time.Millisecond},
		"crawl":      {400 * time.Millisecond, 300 * time.Millisecond},
	} {
		waits := demo.Waits(fault, 200)
		longest := time.Duration(0)
		total := time.Duration(0)
		for _, w := range waits[1:] {
			longest = max(longest, w)
			total += w
		}
		require.InDelta(t, want.first.Seconds(), waits[0].Seconds(), 0.35, fault)
		require.LessOrEqual(t, longest, want.longest+200*time.Millisecond, fault)
		if fault == "" {
			require.InDelta(t, 50, float64(len(waits))/total.Seconds(), 12, "tokens per second")
		}
		if want.longest > 500*time.Millisecond {
			require.GreaterOrEqual(t, longest, want.longest, fault)
		}
	}
}

func TestModels(t *testing.T) {
	srv := httptest.NewServer(demo.NewHandler(demo.NewDefaultConfig()))
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL + "/v1/models")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var list struct{ Data []struct{ ID string } }
	require.NoError(t, json.NewDecoder(res.Body).Decode(&list))
	require.Len(t, list.Data, len(demo.Faults())+1)
	help, err := srv.Client().Get(srv.URL + "/")
	require.NoError(t, err)
	defer func() { _ = help.Body.Close() }()
	b, err := io.ReadAll(help.Body)
	require.NoError(t, err)
	require.Contains(t, string(b), "curl")
}
