package tap_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

// rawUpstream serves each connection with f, below HTTP.
func rawUpstream(t *testing.T, f func(c net.Conn, r *http.Request)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				_, _ = io.Copy(io.Discard, r.Body) // closing with unread bytes would reset the connection
				f(c, r)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func to(url string) func(*tap.Config) {
	return func(c *tap.Config) { c.Upstreams = map[string]tap.Upstream{tap.DefaultUpstream: {URL: url}} }
}

// reply is an answer whose body is closed when the test ends.
type reply struct {
	StatusCode int
	Header     http.Header
	Trailer    http.Header // filled behind the body
	Body       io.Reader
}

// post sends a request with an id.
func post(t testing.TB, url, id, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if id != "" {
		req.Header.Set("X-Request-Id", id)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return reply{StatusCode: res.StatusCode, Header: res.Header, Trailer: res.Trailer, Body: res.Body}
}

const sayHi = `{"choices":[{"index":0,"delta":{"content":"Hi €"}}]}`

// Each piece that the upstream sends must reach the client before the upstream sends the next one, whatever it
// is cut through: nothing waits in the tap.
func TestPiecesPassOneByOne(t *testing.T) {
	full := "data: " + sayHi + "\r\n\r\n: ping\n\ndata: " + sayHi + "\n\ndata: [DONE]\n\n"
	for _, size := range []int{1, 7, 50} {
		for _, framing := range []string{"chunked", "length", "close"} {
			t.Run(fmt.Sprintf("%s/%d", framing, size), func(t *testing.T) {
				next := make(chan struct{})
				url := rawUpstream(t, func(c net.Conn, _ *http.Request) {
					head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
					switch framing {
					case "chunked":
						head += "Transfer-Encoding: chunked\r\n"
					case "length":
						head += fmt.Sprintf("Content-Length: %d\r\n", len(full))
					case "close":
						head = strings.Replace(head, "1.1", "1.0", 1)
					}
					_, _ = io.WriteString(c, head+"\r\n")
					for rest := full; rest != ""; {
						n := min(size, len(rest))
						if framing == "chunked" {
							_, _ = fmt.Fprintf(c, "%x;ext=1\r\n%s\r\n", n, rest[:n])
						} else {
							_, _ = io.WriteString(c, rest[:n])
						}
						rest = rest[n:]
						select {
						case <-next:
						case <-t.Context().Done():
							return
						}
					}
					if framing == "chunked" {
						_, _ = io.WriteString(c, "0\r\n\r\n")
					}
				})
				b := start(t, nil, to(url))
				res := post(t, b.url+"/v1/chat/completions", "p", `{}`)
				var got []byte
				buf := make([]byte, 4096)
				for len(got) < len(full) {
					n, err := res.Body.Read(buf)
					if err != nil { // may come with the last piece of a body of known length
						require.ErrorIs(t, err, io.EOF)
						require.Equal(t, len(full), len(got)+n)
					}
					require.Equal(t, min(size, len(full)-len(got)), n, "a piece arrived as it was sent")
					got = append(got, buf[:n]...)
					select {
					case next <- struct{}{}:
					case <-t.Context().Done():
					}
				}
				n, err := res.Body.Read(buf)
				require.Zero(t, n)
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, full, string(got))
				rec := b.whole(t, "p")
				require.Equal(t, []wire.Kind{wire.KindContent, wire.KindKeepalive, wire.KindContent, wire.KindDone}, rec.Chunks.Kind)
				require.Equal(t, []uint32{6, 0, 6, 0}, rec.Chunks.Bytes)
				require.Empty(t, rec.ErrorType)
			})
		}
	}
}

func TestTrailersPass(t *testing.T) {
	url := rawUpstream(t, func(c net.Conn, _ *http.Request) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n")
	})
	b := start(t, nil, to(url))
	res := post(t, b.url+"/x", "", "")
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "abc", string(body))
	require.Equal(t, "7", res.Trailer.Get("X-Sum"))
}

// dial sends a request as it is written and returns the answer as it is written.
func dial(t *testing.T, b *bench, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", b.tap.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	raw, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(raw)
}

func TestPlainRequestsPass(t *testing.T) {
	var last *http.Request
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Clone(t.Context())
		h := sha256.New()
		n, _ := io.Copy(h, r.Body)
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.Header().Set("ETag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		case "/head":
			w.Header().Set("Content-Length", "12345")
		case "/bare":
			w.Header()["Content-Type"] = nil
			w.Header()["Date"] = nil
			_, _ = io.WriteString(w, "<html>")
		default:
			_, _ = fmt.Fprintf(w, "%d %s", n, hex.EncodeToString(h.Sum(nil)))
		}
	}))

	big := make([]byte, 5<<20)
	_, _ = rand.Read(big)
	sum := sha256.Sum256(big)
	req, err := http.NewRequest(http.MethodPut, b.url+"/v1/files/a%2Fb%20c?q=1;2&z=%zz", bytes.NewReader(big))
	require.NoError(t, err)
	req.URL.RawQuery = "q=1;2&z=%zz"
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("X-Forwarded-For", "10.0.0.1")
	req.Header.Set("Forwarded", "for=10.0.0.1")
	req.Header.Set("X-Fermata-App", "a")
	req.Header.Set("Expect", "100-continue")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, fmt.Sprintf("%d %x", len(big), sum), string(body))
	require.Equal(t, "/v1/files/a%2Fb%20c?q=1;2&z=%zz", last.RequestURI)
	require.Equal(t, "10.0.0.1", last.Header.Get("X-Forwarded-For"), "as sent")
	require.Equal(t, "for=10.0.0.1", last.Header.Get("Forwarded"))
	require.Empty(t, last.Header.Get("X-Fermata-App"))
	require.Equal(t, "100-continue", last.Header.Get("Expect"))
	require.NotContains(t, last.Host, b.tap.Addr().String(), "the upstream sees its own host")

	res, err = http.Head(b.url + "/head")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.EqualValues(t, 12345, res.ContentLength)
	for _, status := range []int{204, 304} {
		res, err = http.Get(fmt.Sprintf("%s/%d", b.url, status))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode)
	}
	raw := dial(t, b, "GET /bare HTTP/1.0\r\nHost: x\r\n\r\n")
	require.Contains(t, raw, "\r\n\r\n<html>")
	require.NotContains(t, raw, "Content-Type", "the tap adds none")
	require.NotContains(t, raw, "Date:")
	require.NotContains(t, last.Header, "User-Agent", "the tap adds none")
	require.NotContains(t, last.Header, "Accept-Encoding")
	require.Empty(t, b.all(), "what is no LLM answer is not recorded")
	require.EqualValues(t, 5, b.tap.Stats().Requests.Load())
}

func TestHTTP2WithoutTLS(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // whoever answers before may be over before the request is through
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\n: proto %s\n\ndata: [DONE]\n\n", sayHi, r.Proto)
	}))
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	up.Config.Protocols = p
	up.Start()
	defer up.Close()
	b := start(t, nil, to(strings.Replace(up.URL, "http:", "h2c:", 1)))
	transport := &http.Transport{Protocols: p}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodPost, b.url+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "h2")
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 2, res.ProtoMajor)
	require.Contains(t, string(body), "proto HTTP/2.0")
	rec := b.whole(t, "h2")
	require.Equal(t, 1, count(rec, wire.KindContent))
	require.Equal(t, "m", rec.Model)
}
