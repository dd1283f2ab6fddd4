package replay

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// answer is one recorded HTTP answer without times of its chunks.
type answer struct {
	url    string // or path; may be empty
	status int
	header http.Header
	body   []byte
}

// idHeaders may hold the id a request is known by; the first valid one becomes the request id, the others aliases.
var idHeaders = []string{"X-Request-Id", "Apim-Request-Id", "Request-Id", "X-Litellm-Call-Id", "Openai-Request-Id", "Cf-Ray"}

// recorded makes the stream of an answer. index tells it from others of the file.
func (r *reader) recorded(a answer, where string, index int) error {
	path := a.url
	if u, err := url.Parse(a.url); err == nil && u.Path != "" {
		path = u.Path
	}
	contentType := a.header.Get("Content-Type")
	framing := llmstream.FramingOfContentType(contentType)
	failed := a.status >= 400
	switch {
	case failed:
	case llmstream.DialectOfPath(path) == llmstream.DialectUnknown && framing != llmstream.FramingSSE && framing != llmstream.FramingNDJSON:
		r.skip(where, "is no answer of a language model")
		return nil
	case framing == llmstream.FramingJSON && !bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("[")):
		r.skip(where, "was not streamed")
		return nil
	case framing == llmstream.FramingNDJSON && bytes.Contains(a.body, []byte(`"created_at"`)):
		id, _ := r.headerIDs(a.header)
		return r.ollamaStreams(a.body, id, index)
	}
	var c collector
	p := llmstream.New(llmstream.Options{Path: path, ContentType: contentType}, nil)
	frames := []uint64{} // of each event
	p.Reset(llmstream.Options{Path: path, ContentType: contentType}, func(e *llmstream.Event) {
		frames = append(frames, p.Info().Frames)
		c.event(e)
	})
	_, _ = p.Write(a.body)
	p.Close()
	info := p.Info()
	if !failed && len(c.events) == 0 {
		r.skip(where, "holds no event")
		return nil
	}

	s := &wire.Stream{Emitter: r.rep.Format, Final: true, Synthetic: true, Status: int32(a.status)} //nolint:gosec // 100 to 999
	fill(s, info)
	s.RequestID, s.Aliases = r.headerIDs(a.header)
	model := r.opt.Pacing.String()
	made := r.id(model, strconv.Itoa(index))
	if s.RequestID == "" {
		s.RequestID = made
	}
	s.StartedAt = answeredAt(a)
	if s.StartedAt == 0 {
		s.StartedAt = undated.UnixMicro()
		r.note("an answer has no date: it is placed at %s; move it with --start", undated.Format(time.RFC3339))
	}
	s.Provider = provider(a.url, info.Dialect)
	s.Deployment = a.header.Get("X-Ms-Deployment-Name")
	s.Region = a.header.Get("X-Ms-Region")
	if failed {
		s.ErrorType = httpError(int64(a.status))
		s.Synthetic = false
		return r.stream(s)
	}
	s.Chunks = c.chunks(0)
	r.pace(s, made, frames)
	r.note("the recording has no chunk times: they come from a model (%s) and are marked synthetic", model)
	if info.Malformed > 0 {
		r.note("%d frames could not be read; they are chunks of kind error", info.Malformed)
	}
	return r.stream(s)
}

// pace gives times to the chunks: each frame that carries generated text takes one step of the model, every other one
// comes with the frame in front of it.
func (r *reader) pace(s *wire.Stream, key string, frames []uint64) {
	steps := 0
	step := make([]int, len(frames))
	last := uint64(0)
	for i := range frames {
		if s.Chunks.ContentBearing(i) && (frames[i] != last || steps == 0) {
			steps++
			last = frames[i]
		}
		step[i] = max(steps-1, 0)
	}
	t := r.opt.Pacing.times(key, max(steps, 1), s.PromptTokens.Or(0))
	for i := range s.Chunks.T {
		s.Chunks.T[i] = t[step[i]]
	}
	s.EndUS = wire.Some(t[len(t)-1])
}

func (r *reader) headerIDs(h http.Header) (id string, aliases []string) {
	for _, name := range idHeaders {
		v := h.Get(name)
		switch {
		case v == "" || len(v) > 256:
		case id == "" && wire.ValidID(v):
			id = v
		default:
			aliases = append(aliases, v)
		}
	}
	return id, aliases
}

var createdKey = regexp.MustCompile(`"created(?:_at)?"\s*:\s*(\d{10})\b`)

// answeredAt finds when an answer was given, µs: its Date, else the time its first frame tells.
func answeredAt(a answer) int64 {
	if t, err := http.ParseTime(a.header.Get("Date")); err == nil {
		return t.UnixMicro()
	}
	if m := createdKey.FindSubmatch(a.body); m != nil {
		if sec, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			return sec * 1_000_000
		}
	}
	return 0
}

// provider names who serves the URL's host, where that is known beyond doubt.
func provider(rawURL string, d llmstream.Dialect) string {
	host := ""
	if u, err := url.Parse(rawURL); err == nil {
		host = u.Hostname()
	}
	for _, p := range []struct{ suffix, name string }{
		{".openai.azure.com", "azure"},
		{"api.openai.com", "openai"},
		{"api.anthropic.com", "anthropic"},
		{"generativelanguage.googleapis.com", "google"},
		{"api.groq.com", "groq"},
		{"api.mistral.ai", "mistral"},
	} {
		if strings.HasSuffix(host, p.suffix) {
			return p.name
		}
	}
	if d == llmstream.DialectLlamaCpp || d == llmstream.DialectOllama || d == llmstream.DialectTGI {
		return d.String()
	}
	return ""
}

var curlURL = regexp.MustCompile(`\s(?:https?://)?([A-Za-z0-9.-]+(?::\d+)?/[^\s'"]*)`)

// readTranscript reads what `curl -i` printed: optionally a line with the command, then status line, headers, body.
func readTranscript(r *reader) error {
	doc, err := r.src.document()
	if err != nil {
		return err
	}
	a := answer{header: http.Header{}}
	if bytes.HasPrefix(doc, []byte("#")) {
		line, rest, _ := bytes.Cut(doc, []byte("\n"))
		if m := curlURL.FindSubmatch(line); m != nil {
			a.url = "http://" + string(m[1])
		}
		doc = rest
	}
	for {
		line, rest, _ := bytes.Cut(doc, []byte("\n"))
		status := bytes.Fields(line)
		if len(status) < 2 || !bytes.HasPrefix(status[0], []byte("HTTP/")) {
			return fmt.Errorf("has no HTTP status line")
		}
		if a.status, err = strconv.Atoi(string(status[1])); err != nil || a.status < 100 || a.status > 999 {
			return fmt.Errorf("has no HTTP status line")
		}
		doc = rest
		for {
			line, rest, found := bytes.Cut(doc, []byte("\n"))
			doc = rest
			if line = bytes.TrimRight(line, "\r"); len(line) == 0 || !found {
				break
			}
			if k, v, ok := bytes.Cut(line, []byte(":")); ok {
				a.header.Add(string(bytes.TrimSpace(k)), string(bytes.TrimSpace(v)))
			}
		}
		if a.status >= 200 || !bytes.HasPrefix(doc, []byte("HTTP/")) {
			break // 100 Continue is followed by the answer itself
		}
		a.header = http.Header{}
	}
	a.body = doc
	return r.recorded(a, "the answer", 0)
}
