package tap_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink that keeps copies of all segments and checks what must hold for each.
type recorder struct {
	mu       sync.Mutex
	segments []wire.Stream
	problems []string
	fail     func(call int) error
	calls    int
}

func (r *recorder) sink(_ context.Context, batch []wire.Stream) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.fail != nil {
		if err := r.fail(r.calls); err != nil {
			return err
		}
	}
	for _, s := range batch {
		if err := s.Validate(time.Now(), wire.NewDefaultLimits()); err != nil {
			r.problems = append(r.problems, err.Error())
		}
		c := s
		c.Chunks = wire.Chunks{
			T: slices.Clone(s.Chunks.T), Bytes: slices.Clone(s.Chunks.Bytes), Tokens: slices.Clone(s.Chunks.Tokens), Kind: slices.Clone(s.Chunks.Kind),
			Choice: slices.Clone(s.Chunks.Choice), Text: slices.Clone(s.Chunks.Text), Logprob: slices.Clone(s.Chunks.Logprob),
		}
		c.Aliases = slices.Clone(s.Aliases)
		r.segments = append(r.segments, c)
	}
	return nil
}

func (r *recorder) all() []wire.Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.segments)
}

// of returns the segments of one request in the order they came.
func (r *recorder) of(id string) []wire.Stream {
	var out []wire.Stream
	for _, s := range r.all() {
		if s.RequestID == id {
			out = append(out, s)
		}
	}
	return out
}

// whole waits until the stream of a request has ended and returns it as one record.
func (r *recorder) whole(t testing.TB, id string) wire.Stream {
	t.Helper()
	var segs []wire.Stream
	require.Eventually(t, func() bool {
		segs = r.of(id)
		return len(segs) > 0 && segs[len(segs)-1].Final
	}, time.Minute, time.Millisecond, "no final segment of %s", id)
	out := segs[len(segs)-1]
	out.Chunks = wire.Chunks{}
	for i, s := range segs {
		require.EqualValues(t, i, s.Seq, "segments of %s", id)
		require.Equal(t, i == len(segs)-1, s.Final)
		require.Equal(t, out.StartedAt, s.StartedAt)
		c := s.Chunks
		out.Chunks.T = append(out.Chunks.T, c.T...)
		out.Chunks.Bytes = append(out.Chunks.Bytes, c.Bytes...)
		out.Chunks.Kind = append(out.Chunks.Kind, c.Kind...)
		out.Chunks.Tokens = append(out.Chunks.Tokens, c.Tokens...)
		out.Chunks.Choice = append(out.Chunks.Choice, c.Choice...)
		out.Chunks.Text = append(out.Chunks.Text, c.Text...)
	}
	require.True(t, slices.IsSorted(out.Chunks.T))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.problems)
	return out
}

// count tells how many chunks of a kind there are.
func count(s wire.Stream, k wire.Kind) int {
	n := 0
	for _, v := range s.Chunks.Kind {
		if v == k {
			n++
		}
	}
	return n
}

type bench struct {
	*recorder
	tap *tap.Tap
	url string
}

// start runs a tap in front of a handler.
func start(t testing.TB, h http.Handler, change ...func(*tap.Config)) *bench {
	t.Helper()
	cfg := tap.NewDefaultConfig()
	cfg.Endpoint = "127.0.0.1:0"
	cfg.DrainTimeout = 200 * time.Millisecond
	if h != nil {
		up := httptest.NewServer(h)
		t.Cleanup(up.Close)
		cfg.Upstreams = map[string]tap.Upstream{tap.DefaultUpstream: {URL: up.URL}}
	}
	for _, c := range change {
		c(cfg)
	}
	b := &bench{recorder: &recorder{}}
	var err error
	b.tap, err = tap.New(*cfg, tap.Settings{}, b.sink)
	require.NoError(t, err)
	require.NoError(t, b.tap.Start(t.Context()))
	b.url = "http://" + b.tap.Addr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, b.tap.Shutdown(ctx))
		http.DefaultClient.CloseIdleConnections()
	})
	return b
}
