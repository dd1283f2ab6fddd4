package ingest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/wire"
)

const (
	good = `{"request_id":"a","started_at":1760000000000000,"unknown":1}`
	bad  = `{"request_id":"b"}`
)

func decode(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	stats := wire.EachStream(body, opt, func(_ int, s *wire.Stream, err *wire.ItemError) {
		if err != nil {
			b.Reject(err)
			return
		}
		b.AddStream(s)
		b.Accept()
	})
	b.Ignore(stats.Unknown)
}

// serve runs a handler on a listener of its own.
func serve(t *testing.T, change func(*ingest.Config), next consumer.Logs) (string, *componenttest.Telemetry) {
	t.Helper()
	cfg := ingest.NewDefaultConfig("")
	cfg.HTTP = configoptional.Some(ingest.NewDefaultHTTP("127.0.0.1:0"))
	if change != nil {
		change(&cfg)
	}
	tel := componenttest.NewTelemetry()
	set := receivertest.NewNopSettings(component.MustNewType("test"))
	set.TelemetrySettings = tel.NewTelemetrySettings()
	h, err := ingest.NewHandler(ingest.HandlerConfig{Receiver: set, Path: "/v1/chunks", Limits: cfg.Limits, Decode: decode, Next: next})
	require.NoError(t, err)
	c := ingest.NewComponent(&cfg, set.TelemetrySettings, map[string]http.Handler{"/v1/chunks": h})
	require.Nil(t, c.Addr())
	require.NoError(t, c.Start(context.Background(), ingesttest.Host{}))
	t.Cleanup(func() {
		require.NoError(t, c.Shutdown(context.Background()))
		require.NoError(t, c.Shutdown(context.Background()))
		require.NoError(t, tel.Shutdown(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + c.Addr().String(), tel
}

func TestPipelineErrors(t *testing.T) {
	f := func(name string, err error, status int, retry, reason string) {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, nil, consumertest.NewErr(err))
			for _, body := range []string{good, "[" + good + "," + bad + "]"} {
				got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Body: []byte(body)})
				require.Equal(t, status, got.Status)
				require.Equal(t, retry, got.Header.Get("Retry-After"))
				require.Zero(t, got.Answer.Accepted, "nothing is called accepted that was not")
				require.Equal(t, "(pipeline)", got.Answer.Errors[0].Field)
				require.Contains(t, got.Answer.Errors[0].Reason, reason)
				require.NotContains(t, got.Raw, "secret", "the pipeline's words stay inside")
			}
		})
	}
	secret := errors.New("secret of the pipeline")
	f("queue full", fmt.Errorf("sending queue is full: %w", secret), 503, "1", "send them again")
	f("retryable", consumererror.NewRetryableError(secret), 503, "1", "send them again")
	f("deadline", context.DeadlineExceeded, 503, "1", "send them again")
	f("permanent", consumererror.NewPermanent(secret), 400, "", "for good")
	f("slow down", consumererror.NewOTLPHTTPError(secret, 429), 429, "1", "slow down")
}

func TestNothingGoodNothingConsumed(t *testing.T) {
	url, _ := serve(t, nil, consumertest.NewErr(errors.New("must not be called")))
	got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Body: []byte(bad)})
	require.Equal(t, 400, got.Status)
	require.JSONEq(t, `{"accepted":0,"rejected":1,"errors":[{"index":0,"request_id":"b","field":"started_at",`+
		`"reason":"is missing; want microseconds since 1970-01-01"}]}`, got.Raw)
	got = ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Body: []byte("[]")})
	require.Equal(t, 200, got.Status)
	require.JSONEq(t, `{"accepted":0,"rejected":0}`, got.Raw)
}

func TestErrorsAreCapped(t *testing.T) {
	sink := new(consumertest.LogsSink)
	url, _ := serve(t, nil, sink)
	body := strings.Repeat(bad+"\n", 500) + good
	got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{ContentType: "application/x-ndjson", Body: []byte(body)})
	require.Equal(t, 400, got.Status)
	require.Equal(t, 500, got.Answer.Rejected)
	require.Equal(t, 1, got.Answer.Accepted)
	require.Len(t, got.Answer.Errors, ingest.MaxErrors)
	require.Equal(t, 1, sink.LogRecordCount())
}

func TestUnknownPath(t *testing.T) {
	url, _ := serve(t, nil, consumertest.NewNop())
	got := ingesttest.Do(t, url+"/v2/chunks", ingesttest.Request{Body: []byte(good)})
	require.Equal(t, 404, got.Status)
	require.Contains(t, got.Answer.Errors[0].Reason, "/v1/chunks")
}

// blocking holds every batch until it is released.
type blocking struct {
	entered, release chan struct{}
}

func (b *blocking) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (b *blocking) ConsumeLogs(context.Context, plog.Logs) error {
	b.entered <- struct{}{}
	<-b.release
	return nil
}

func TestOverload(t *testing.T) {
	f := func(name string, change func(*ingest.Config), words string) {
		t.Run(name, func(t *testing.T) {
			next := &blocking{entered: make(chan struct{}), release: make(chan struct{})}
			url, _ := serve(t, change, next)
			first := make(chan int)
			go func() {
				resp, err := http.Post(url+"/v1/chunks", "application/json", strings.NewReader(good+strings.Repeat(" ", 900)))
				if err != nil {
					first <- 0
					return
				}
				_ = resp.Body.Close()
				first <- resp.StatusCode
			}()
			<-next.entered
			got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Body: []byte(good + strings.Repeat(" ", 900))})
			require.Equal(t, 429, got.Status)
			require.Equal(t, "2", got.Header.Get("Retry-After"))
			require.Contains(t, got.Answer.Errors[0].Reason, words)
			close(next.release)
			require.Equal(t, 200, <-first)
			// What was held is free again.
			go func() { <-next.entered }()
			got = ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Body: []byte(good)})
			require.Equal(t, 200, got.Status)
		})
	}
	f("requests", func(c *ingest.Config) {
		c.Limits.MaxInFlightRequests, c.Limits.RetryAfter = 1, 2*time.Second
	}, "limits::max_in_flight_requests (1)")
	f("bytes", func(c *ingest.Config) {
		c.Limits.MaxBodyBytes, c.Limits.MaxInFlightBytes, c.Limits.RetryAfter = 1024, 1500, 1500*time.Millisecond
	}, "limits::max_in_flight_bytes (1500)")
}

// raw sends bytes as they are and returns the status line.
func raw(t *testing.T, url, request string, closeWrite bool) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	if closeWrite {
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestCutAndSlowBodies(t *testing.T) {
	url, _ := serve(t, nil, consumertest.NewNop())
	// Long enough for a busy machine to read what is there.
	impatient, _ := serve(t, func(c *ingest.Config) { c.HTTP.Get().ReadTimeout = 2 * time.Second }, consumertest.NewNop())
	head := "POST /v1/chunks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	require.Equal(t, "HTTP/1.1 400 Bad Request", raw(t, url, head+"Content-Length: 1000\r\n\r\n"+good, true))
	require.Equal(t, "HTTP/1.1 408 Request Timeout", raw(t, impatient, head+"Content-Length: 1000\r\n\r\n"+good, false))
	require.Equal(t, "HTTP/1.1 400 Bad Request", raw(t, url, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n", false))
	// An announced size is not believed: nothing is reserved for it.
	require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", raw(t, url, head+"Content-Length: 99999999999\r\n\r\n", false))
}

// A client that sends its whole body before it reads gets the answer, not a reset connection.
func TestTooLargeIsAnsweredToWhoSendsFirst(t *testing.T) {
	url, _ := serve(t, nil, consumertest.NewNop())
	const size = 50 << 20
	head := "POST /v1/chunks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	body := strings.Repeat(" ", size)
	for name, request := range map[string]string{
		"announced": head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, body),
		"chunked":   head + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, body),
	} {
		require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", raw(t, url, request, false), name)
	}
}

func TestReceivedLimit(t *testing.T) {
	url, _ := serve(t, func(c *ingest.Config) { c.HTTP.Get().MaxRequestBodySize = 1000 }, consumertest.NewNop())
	got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Body: []byte(good + strings.Repeat(" ", 2000))})
	require.Equal(t, 413, got.Status)
	require.Contains(t, got.Answer.Errors[0].Reason, "raise max_request_body_size")
	got = ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{
		Encoding: "gzip", Body: ingesttest.Compress(t, "gzip", []byte(good+strings.Repeat(" ", 100_000))),
	})
	require.Equal(t, 200, got.Status, "the limit is on what is received")
}

// TestConfighttpDecompresses checks that the statuses stay when a user has confighttp decompress.
func TestConfighttpDecompresses(t *testing.T) {
	url, _ := serve(t, func(c *ingest.Config) {
		c.HTTP.Get().CompressionAlgorithms = []string{"", "gzip"}
		c.HTTP.Get().MaxRequestBodySize = 100_000
	}, consumertest.NewNop())
	whole := ingesttest.Compress(t, "gzip", []byte(good+strings.Repeat(" ", 1000)))
	f := func(body []byte, encoding string, status int) {
		t.Helper()
		got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Encoding: encoding, Body: body})
		require.Equal(t, status, got.Status, got.Raw)
		if status != 200 {
			require.NotEmpty(t, got.Answer.Errors)
		}
	}
	f(whole, "gzip", 200)
	f(whole[:len(whole)-9], "gzip", 400)
	f([]byte(good), "gzip", 400)
	f(ingesttest.Compress(t, "gzip", make([]byte, 1<<20)), "gzip", 413)
}

func TestMediaTypes(t *testing.T) {
	url, _ := serve(t, nil, consumertest.NewNop())
	f := func(contentType string, status int) {
		t.Helper()
		got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{ContentType: contentType, Body: []byte(good)})
		require.Equal(t, status, got.Status, contentType)
	}
	f("-", 200)
	f("application/json", 200)
	f("Application/JSON; charset=UTF-8", 200)
	f("application/x-ndjson", 200)
	f("application/jsonl; charset=utf-8", 200)
	f("text/plain", 415)
	f("application/json; charset=latin1", 415)
	f("multipart/form-data; boundary=x", 415)
}

func TestCounters(t *testing.T) {
	url, tel := serve(t, nil, consumertest.NewNop())
	body := []byte("[" + good + "," + bad + "," + good + "]")
	zipped := ingesttest.Compress(t, "gzip", body)
	ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Encoding: "gzip", Body: zipped})
	ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{Method: http.MethodGet})
	sum := func(name string) int64 {
		t.Helper()
		m, err := tel.GetMetric(name)
		require.NoError(t, err)
		n := int64(0)
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			n += p.Value
		}
		return n
	}
	require.EqualValues(t, 2, sum("fermata_ingest_items_accepted"))
	require.EqualValues(t, 1, sum("fermata_ingest_items_rejected"))
	require.EqualValues(t, 1, sum("fermata_ingest_requests_refused"))
	require.EqualValues(t, len(zipped), sum("fermata_ingest_received"))
	require.EqualValues(t, len(body), sum("fermata_ingest_decoded"))
	require.EqualValues(t, 2, sum("fermata_ingest_fields_ignored"))
	require.EqualValues(t, 2, sum("otelcol_receiver_accepted_log_records"))
}

// TestTaken: what waits for the pipeline hears of it once it took the records, and only then.
func TestTaken(t *testing.T) {
	var fails error
	next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { return fails })
	require.NoError(t, err)
	taken := 0
	set := receivertest.NewNopSettings(component.MustNewType("test"))
	cfg := ingest.NewDefaultConfig("")
	cfg.HTTP = configoptional.Some(ingest.NewDefaultHTTP("127.0.0.1:0"))
	h, err := ingest.NewHandler(ingest.HandlerConfig{
		Receiver: set, Path: "/x", Limits: cfg.Limits, Next: next, SniffGzip: true, OKStatus: http.StatusAccepted,
		Decode: func(r *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
			decode(r, body, opt, b)
			b.OnTaken(func() { taken++ })
		},
	})
	require.NoError(t, err)
	att, err := cfg.Attach(context.Background(), ingesttest.Host{}, set.TelemetrySettings, map[string]http.Handler{"/x": h})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, att.Detach(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	f := func(body []byte, status, want int) {
		t.Helper()
		taken = 0
		require.Equal(t, status, ingesttest.Do(t, "http://"+att.Addr().String()+"/x", ingesttest.Request{Body: body}).Status)
		require.Equal(t, want, taken)
	}
	zipped := ingesttest.Compress(t, "gzip", []byte(good))
	f([]byte(good), 202, 1)
	f(zipped, 202, 1)
	f([]byte("["+good+","+bad+"]"), 400, 1)
	f([]byte(bad), 400, 0)
	f(zipped[:len(zipped)-1], 400, 0)
	fails = errors.New("full")
	f([]byte(good), 503, 0)
	fails = consumererror.NewPermanent(errors.New("never"))
	f([]byte(good), 400, 0)
}

func TestConfigCheck(t *testing.T) {
	c := ingest.NewDefaultConfig("localhost:1")
	require.NoError(t, c.Check())
	require.False(t, c.Enabled())
	id := component.MustNewID("fermata_ingest")
	c.Ingest, c.HTTP = &id, configoptional.Some(confighttp.NewDefaultServerConfig())
	c.Limits = ingest.LimitsConfig{MaxFuture: -1, MaxBodyBytes: 2000}
	err := c.Check()
	for _, key := range []string{
		"ingest, http", "max_in_flight_bytes", "max_in_flight_requests", "max_items", "max_chunks", "max_string_bytes", "max_future", "retry_after",
	} {
		require.ErrorContains(t, err, key)
	}
}
