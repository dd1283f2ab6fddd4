// Package ingesttest runs receivers' HTTP endpoints in tests and holds the hostile requests that every one
// of them must stand.
package ingesttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/fermata-io/fermata/internal/ingest"
)

// Host is a component.Host with extensions.
type Host map[component.ID]component.Component

// GetExtensions returns the map itself.
func (h Host) GetExtensions() map[component.ID]component.Component { return h }

// Start starts a receiver that serves HTTP on a free loopback port and returns its base URL. It is stopped
// when the test ends.
func Start(t testing.TB, f receiver.Factory, cfg component.Config, next consumer.Logs) string {
	t.Helper()
	set := receivertest.NewNopSettings(f.Type())
	r, err := f.CreateLogs(context.Background(), set, cfg, next)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), Host{}))
	t.Cleanup(func() {
		require.NoError(t, r.Shutdown(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + r.(interface{ Addr() net.Addr }).Addr().String()
}

// Request is one request to an endpoint.
type Request struct {
	Method      string // default POST
	ContentType string // default application/json; "-": none
	Encoding    string
	Header      map[string]string
	Body        []byte
	Reader      io.Reader // instead of Body, of unknown length
}

// Response is an endpoint's answer.
type Response struct {
	Status int
	Header http.Header
	Answer ingest.Answer
	Raw    string
}

// Do sends a request; the body of the answer is to be an ingest.Answer unless it is empty.
func Do(t testing.TB, url string, r Request) Response {
	t.Helper()
	body := r.Reader
	if body == nil {
		body = bytes.NewReader(r.Body)
	}
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(context.Background(), r.Method, url, body)
	require.NoError(t, err)
	switch r.ContentType {
	case "":
		req.Header.Set("Content-Type", "application/json")
	case "-":
	default:
		req.Header.Set("Content-Type", r.ContentType)
	}
	if r.Encoding != "" {
		req.Header.Set("Content-Encoding", r.Encoding)
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	out := Response{Status: resp.StatusCode, Header: resp.Header, Raw: string(raw)}
	if len(raw) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(raw, &out.Answer), "%s", raw)
	}
	return out
}

// Compress encodes b as a Content-Encoding says.
func Compress(t testing.TB, encoding string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "zstd":
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		w = z
	default:
		require.Fail(t, "no such encoding", encoding)
	}
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}
