package tap_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

const llmstreamData = "../../../internal/llmstream/testdata"

// transcript is a recorded answer of a real server, with its request.
type transcript struct {
	path, request, contentType string
	status                     int
	body                       []byte
}

var curl = regexp.MustCompile(`^# curl \S+ (?:-i )?127\.0\.0\.1:\d+(/\S*)(?: .*? -d (.*))?$`)

func readTranscript(t testing.TB, file string) transcript {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	head, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	require.True(t, ok)
	first, head, _ := bytes.Cut(head, []byte("\n"))
	tr := transcript{body: body, path: "/v1/chat/completions", request: `{"model":"smollm2","stream":true}`}
	if m := curl.FindSubmatch(first); m != nil {
		tr.path, tr.request = string(m[1]), string(m[2])
	}
	lines := strings.Split(string(head), "\r\n")
	tr.status, err = strconv.Atoi(strings.Fields(lines[0])[1])
	require.NoError(t, err)
	for _, l := range lines[1:] {
		if k, v, _ := strings.Cut(l, ": "); strings.EqualFold(k, "content-type") {
			tr.contentType = v
		}
	}
	return tr
}

// compressors flush after each frame, as servers that stream compressed do.
var compressors = map[string]func(io.Writer) interface {
	io.WriteCloser
	Flush() error
}{
	"gzip": func(w io.Writer) interface {
		io.WriteCloser
		Flush() error
	} {
		return gzip.NewWriter(w)
	},
	"br": func(w io.Writer) interface {
		io.WriteCloser
		Flush() error
	} {
		return brotli.NewWriter(w)
	},
	"zstd": func(w io.Writer) interface {
		io.WriteCloser
		Flush() error
	} {
		z, _ := zstd.NewWriter(w)
		return z
	},
	"deflate": func(w io.Writer) interface {
		io.WriteCloser
		Flush() error
	} {
		return zlib.NewWriter(w)
	},
	"deflate, raw": func(w io.Writer) interface {
		io.WriteCloser
		Flush() error
	} {
		f, _ := flate.NewWriter(w, 5)
		return f
	},
}

// TestTranscriptsThroughTheTap serves what real servers said through the tap, plain and compressed, and checks
// that the client gets every byte and the record says what the file says.
func TestTranscriptsThroughTheTap(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(llmstreamData, "expected.json"))
	require.NoError(t, err)
	var expected map[string]struct {
		Kinds                                    map[string]int
		Bytes                                    map[string]int
		Tokens                                   *uint32
		ResponseID                               string `json:"response_id"`
		Model                                    string
		FinishReason                             string `json:"finish_reason"`
		Error                                    string
		PromptTokens, OutputTokens, CachedTokens *int64
	}
	require.NoError(t, json.Unmarshal(raw, &expected))
	var current transcript
	var encoding string
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", current.contentType)
		var out io.Writer = w
		flush := func() {}
		if encoding != "" {
			c := compressors[encoding](w)
			defer func() { _ = c.Close() }()
			out, flush = c, func() { _ = c.Flush() }
			w.Header().Set("Content-Encoding", strings.Fields(strings.ReplaceAll(encoding, ",", " "))[0])
		}
		w.WriteHeader(current.status)
		for _, frame := range bytes.SplitAfter(current.body, []byte("\n\n")) {
			_, _ = out.Write(frame)
			flush()
			_ = http.NewResponseController(w).Flush()
		}
	}))
	for name, want := range expected {
		current = readTranscript(t, filepath.Join(llmstreamData, "transcripts", name))
		for _, encoding = range []string{"", "gzip", "br", "zstd", "deflate", "deflate, raw"} {
			id := strings.TrimSuffix(name, ".txt") + "." + strings.NewReplacer(",", "", " ", "").Replace(encoding)
			req, err := http.NewRequest(http.MethodPost, b.url+current.path, strings.NewReader(current.request))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Request-Id", id)
			if encoding != "" {
				req.Header.Set("Accept-Encoding", encoding) // keeps the client from unpacking by itself
			}
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, current.status, res.StatusCode)
			if encoding == "" {
				require.Equal(t, string(current.body), string(got))
			}
			rec := b.whole(t, id)
			kinds, sizes, tokens := map[string]int{}, map[string]int{}, uint32(0)
			for i, k := range rec.Chunks.Kind {
				kinds[k.String()]++
				if k.ContentBearing() {
					sizes[k.String()] += int(rec.Chunks.Bytes[i])
				}
				if len(rec.Chunks.Tokens) > 0 {
					tokens += rec.Chunks.Tokens[i]
				}
			}
			require.Equal(t, want.Kinds, kinds, id)
			require.Equal(t, want.Bytes, sizes, id)
			if want.Tokens != nil {
				require.Equal(t, *want.Tokens, tokens, id)
			}
			require.Equal(t, want.ResponseID, rec.ResponseID, id)
			require.Equal(t, want.FinishReason, rec.FinishReason, id)
			require.EqualValues(t, current.status, rec.Status, id)
			require.Equal(t, current.path, rec.Route)
			if current.status < 400 {
				require.Empty(t, rec.ErrorType, id)
				require.Equal(t, "smollm2", rec.Model, id)
			} else {
				require.Equal(t, want.Error, rec.ErrorType, id)
			}
			require.Equal(t, wire.TierServer, rec.Tier)
			require.Equal(t, "tap", rec.Emitter)
			require.True(t, rec.EndUS.OK && rec.HeadersUS.OK, id)
		}
	}
}
