//go:build e2e

package e2ellm

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

const (
	requests  = 10
	maxTokens = 60
	// within is the bar: stored times and the client's own agree to this, beside the network.
	within = 2 * time.Millisecond
)

// measured is what the client wrote down of one request.
type measured struct {
	RequestID    string  `json:"request_id"`
	Prepared     int64   // µs that the client took before it sent the request
	T            []int64 // µs from the sending
	Text         []string
	FinishReason string `json:"finish_reason"`
	Usage        int64
	ResponseID   string `json:"response_id"`
	Model        string
	End          int64
}

// stored is what Fermata says of it.
type stored struct {
	TTFTUS       int64
	T            []int64 // of content chunks, µs from the tier's start
	Bytes        []uint32
	FinishReason string
	Tokens       int64
	ResponseID   string
	Model        string
}

func cache(t *testing.T, name string) string {
	dir := os.Getenv("FERMATA_LLM_CACHE")
	if dir == "" {
		dir = "../../.cache/llm"
	}
	p, err := filepath.Abs(filepath.Join(dir, name))
	require.NoError(t, err)
	_, err = os.Stat(p)
	require.NoError(t, err, "run test/e2e-llm/setup.sh first")
	return p
}

// model starts the LLM and returns its URL.
func model(t *testing.T) string {
	cmd := exec.Command(cache(t, "venv/bin/python"), "serve.py", cache(t, "model.gguf"), "0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	log, err := os.Create(filepath.Join(t.TempDir(), "model.log"))
	require.NoError(t, err)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "READY "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return url
		}
	}
	t.Fatalf("the model did not start; see %s", log.Name())
	return ""
}

// surroundings are what the machine and the network add by themselves.
type surroundings struct {
	RoundTripUS int64 `json:"round_trip_us"`
	JitterUS    int64 `json:"jitter_us"`
}

// client runs the openai client against a tap.
func client(t *testing.T, tapURL string) (env surroundings, all []measured) {
	cmd := exec.Command(cache(t, "venv/bin/python"), "client.py", tapURL+"/v1", strconv.Itoa(requests), strconv.Itoa(maxTokens))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, requests+1)
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &env))
	for _, l := range lines[1:] {
		var m measured
		require.NoError(t, json.Unmarshal([]byte(l), &m))
		all = append(all, m)
	}
	return env, all
}

// agree compares what is stored with what the client measured.
func agree(t *testing.T, env surroundings, all []measured, find func(id string) stored) {
	var ttft, gaps, spans, prepared []time.Duration
	for _, m := range all {
		s := find(m.RequestID)
		require.Len(t, s.T, len(m.T), "content chunks of %s", m.RequestID)
		for i, text := range m.Text {
			require.EqualValues(t, len(text), s.Bytes[i], "bytes of chunk %d", i)
		}
		require.Equal(t, m.FinishReason, s.FinishReason)
		require.Equal(t, m.Usage, s.Tokens)
		require.Equal(t, m.ResponseID, s.ResponseID)
		require.Equal(t, m.Model, s.Model)
		require.Equal(t, s.T[0], s.TTFTUS)
		us := func(a, b int64) time.Duration { return time.Duration(a-b) * time.Microsecond }
		ttft = append(ttft, us(m.T[0], s.TTFTUS))
		prepared = append(prepared, us(m.Prepared, 0))
		for i := 1; i < len(m.T); i++ {
			gaps = append(gaps, us(m.T[i]-m.T[i-1], s.T[i]-s.T[i-1]).Abs())
		}
		n := len(m.T) - 1
		spans = append(spans, us(m.T[n]-m.T[0], s.T[n]-s.T[0]).Abs())
	}
	for _, d := range [][]time.Duration{ttft, gaps, spans, prepared} {
		slices.Sort(d)
	}
	at := func(d []time.Duration, q float64) time.Duration { return d[min(len(d)-1, int(q*float64(len(d))))] }
	roundTrip, jitter := time.Duration(env.RoundTripUS)*time.Microsecond, time.Duration(env.JitterUS)*time.Microsecond
	t.Logf("%d streams, %d gaps", len(all), len(gaps))
	t.Logf("smallest round trip %s; the machine wakes processes up to %s late (p90); the client prepares a request for %s",
		roundTrip, jitter, at(prepared, 0.5))
	t.Logf("TTFT, client less stored:  p50 %s, max %s", at(ttft, 0.5), at(ttft, 1))
	t.Logf("gaps, difference:          p50 %s, p90 %s, p99 %s, max %s", at(gaps, 0.5), at(gaps, 0.9), at(gaps, 0.99), at(gaps, 1))
	t.Logf("first to last, difference: p50 %s, max %s", at(spans, 0.5), at(spans, 1))
	// Tap and client may both be woken late, which is the machine and not the measurement.
	require.GreaterOrEqual(t, at(ttft, 0), -within-2*jitter, "no client sees a token before it was sent")
	require.LessOrEqual(t, at(ttft, 0.5), within+roundTrip+2*jitter, "TTFT")
	require.LessOrEqual(t, at(gaps, 0.5), within, "gaps")
	require.LessOrEqual(t, at(gaps, 0.9), within+2*jitter, "gaps")
	require.LessOrEqual(t, at(spans, 0.5), within, "first to last")
}

// TestTap reads what a tap in this process hands on.
func TestTap(t *testing.T) {
	if os.Getenv("FERMATA_API") != "" {
		t.Skip("FERMATA_API is set: the running Fermata is tested")
	}
	upstream := model(t)
	cfg := tap.NewDefaultConfig()
	cfg.Endpoint = "127.0.0.1:0"
	cfg.Upstreams = map[string]tap.Upstream{tap.DefaultUpstream: {URL: upstream}}
	var mu sync.Mutex
	got := map[string]*stored{}
	proxy, err := tap.New(*cfg, tap.Settings{}, func(_ context.Context, segments []wire.Stream) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range segments {
			w := &segments[i]
			s := got[w.RequestID]
			if s == nil {
				s = &stored{}
				got[w.RequestID] = s
			}
			for j := range w.Chunks.T {
				if w.Chunks.ContentBearing(j) {
					s.T = append(s.T, w.Chunks.T[j])
					s.Bytes = append(s.Bytes, w.Chunks.Bytes[j])
				}
			}
			if len(s.T) > 0 {
				s.TTFTUS = s.T[0]
			}
			s.FinishReason, s.Tokens, s.ResponseID, s.Model = w.FinishReason, w.OutputTokens.V, w.ResponseID, w.Model
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, proxy.Start(t.Context()))
	env, all := client(t, "http://"+proxy.Addr().String())
	require.NoError(t, proxy.Shutdown(context.Background()))
	agree(t, env, all, func(id string) stored {
		mu.Lock()
		defer mu.Unlock()
		require.NotNil(t, got[id], id)
		return *got[id]
	})
}

// TestUp reads what a whole Fermata has stored: the one at FERMATA_API and FERMATA_TAP, or one that it starts
// from FERMATA_BIN.
func TestUp(t *testing.T) {
	api, proxy := os.Getenv("FERMATA_API"), os.Getenv("FERMATA_TAP")
	if api == "" {
		bin := os.Getenv("FERMATA_BIN")
		if bin == "" {
			t.Skip("neither FERMATA_API nor FERMATA_BIN is set: build bin/fermata to test the whole")
		}
		api, proxy = up(t, bin, model(t))
	}
	env, all := client(t, address(proxy))
	agree(t, env, all, func(id string) stored { return ask(t, address(api), id) })
}

func address(s string) string {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	return strings.TrimRight(s, "/")
}

// up starts Fermata and waits for its ready file.
func up(t *testing.T, bin, upstream string) (api, proxy string) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	args := []string{"up", "--data", filepath.Join(dir, "data"), "--ready-file", ready, "--upstream", upstream}
	for _, l := range []string{"api", "ingest", "tap", "otlp-grpc", "otlp-http"} {
		args = append(args, "--listen-"+l, "127.0.0.1:0")
	}
	cmd := exec.Command(bin, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	var r struct{ API, Tap string }
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(b, &r) == nil
	}, 2*time.Minute, 20*time.Millisecond, "fermata up did not get ready")
	return r.API, r.Tap
}

// ask waits until a request is stored to its end and reads it.
func ask(t *testing.T, api, id string) stored {
	var s stored
	require.Eventually(t, func() bool {
		res, err := http.Get(api + "/v1/requests/" + id)
		if err != nil || res.StatusCode != http.StatusOK {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		var body struct {
			Attempts []struct {
				Server struct {
					TTFTUS       *int64 `json:"ttft_us"`
					EndUS        *int64 `json:"end_us"`
					FinishReason string `json:"finish_reason"`
					Tokens       int64
					ResponseID   string `json:"response_id"`
					Chunks       struct {
						T     []int64 `json:"t_us"`
						Bytes []uint32
						Kind  []string
					}
				}
			}
			Target  struct{ Model string }
			Aliases []string
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || len(body.Attempts) != 1 || body.Attempts[0].Server.EndUS == nil {
			return false
		}
		server := body.Attempts[0].Server
		require.NotNil(t, server.TTFTUS)
		s = stored{TTFTUS: *server.TTFTUS, FinishReason: server.FinishReason, Tokens: server.Tokens, ResponseID: server.ResponseID, Model: body.Target.Model}
		if s.ResponseID == "" { // the API lists it among the other names of the request
			for _, a := range body.Aliases {
				if strings.HasPrefix(a, "chatcmpl-") {
					s.ResponseID = a
				}
			}
		}
		for i, k := range server.Chunks.Kind {
			if k == wire.KindContent.String() {
				s.T = append(s.T, server.Chunks.T[i])
				s.Bytes = append(s.Bytes, server.Chunks.Bytes[i])
			}
		}
		return true
	}, 20*time.Second, 50*time.Millisecond, "request %s is not stored", id)
	return s
}
