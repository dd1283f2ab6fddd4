package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
)

// streamsToPost is how many streams the kill tests post: enough to be in the middle of inserts in a normal run,
// more (FERMATA_E2E_STREAMS=200000) for the proof.
func streamsToPost(t *testing.T) int {
	if s := os.Getenv("FERMATA_E2E_STREAMS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	return 20_000
}

// load posts streams in batches from a few clients and remembers which were acknowledged.
type load struct {
	mu    sync.Mutex
	acked map[string]bool
	sent  atomic.Int64
}

func (l *load) run(ctx context.Context, ingest func() string, total, batch int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	t0 := time.Now().Add(-time.Hour).UnixMicro()
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				from := int(next.Add(int64(batch))) - batch
				if from >= total {
					return
				}
				l.post(ctx, ingest, t0, from, min(from+batch, total))
			}
		}()
	}
	wg.Wait()
}

// post sends one batch until it is acknowledged, as a client that retries does.
func (l *load) post(ctx context.Context, ingest func() string, t0 int64, from, to int) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	ids := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		id := fmt.Sprintf("kill-%07d", i)
		ids = append(ids, id)
		_ = enc.Encode(map[string]any{
			"request_id": id, "emitter": "load", "model": fmt.Sprintf("m%d", i%8), "started_at": t0 + int64(i),
			"chunks": map[string]any{"dt": []int{200_000, 30_000, 31_000, 29_000, 30_500}, "bytes": []int{4, 4, 4, 4, 4}},
			"end_us": 400_000, "finish_reason": "stop",
		})
	}
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url(ingest(), "/v1/chunks"), bytes.NewReader(body.Bytes()))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/x-ndjson")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		code := resp.StatusCode
		_ = resp.Body.Close()
		if code == http.StatusOK {
			l.mu.Lock()
			for _, id := range ids {
				l.acked[id] = true
			}
			l.mu.Unlock()
			l.sent.Add(int64(len(ids)))
			return
		}
	}
}

// check waits until every acknowledged stream is stored, and that none is stored twice.
func (l *load) check(t *testing.T, u *up) {
	t.Helper()
	opt, err := clickhouse.ParseDSN(u.ClickHouse)
	require.NoError(t, err)
	conn, err := clickhouse.Open(opt)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	var distinct, joined uint64
	require.Eventually(t, func() bool {
		err := conn.QueryRow(t.Context(), `SELECT uniqExact(request_id) FROM streams WHERE request_id LIKE 'kill-%'`).Scan(&distinct)
		return err == nil && distinct >= uint64(len(l.acked))
	}, 2*time.Minute, 100*time.Millisecond, "acknowledged %d, stored %d", len(l.acked), &distinct)
	require.EqualValues(t, len(l.acked), distinct)
	require.Eventually(t, func() bool { // the joiner follows
		err := conn.QueryRow(t.Context(), `SELECT count() FROM joined_requests(tenant = 'default', since = toString(now() - INTERVAL 2 HOUR), until = toString(now())) WHERE request_id LIKE 'kill-%'`).Scan(&joined)
		return err == nil && joined >= uint64(len(l.acked))
	}, 2*time.Minute, 100*time.Millisecond, "acknowledged %d, joined %d", len(l.acked), &joined)
	require.EqualValues(t, len(l.acked), joined, "each is in the joined view once")
}

func TestKillEngineWhileLoading(t *testing.T) {
	u, err := start(t.TempDir())
	require.NoError(t, err)
	defer u.interrupt()
	l := &load{acked: map[string]bool{}}
	total := streamsToPost(t)
	done := make(chan struct{})
	go func() { defer close(done); l.run(t.Context(), func() string { return u.Ingest }, total, 200) }()
	require.Eventually(t, func() bool { return l.sent.Load() > int64(total/3) }, 2*time.Minute, 5*time.Millisecond)
	require.NoError(t, syscall.Kill(enginePID(t, u.PID), syscall.SIGKILL))
	<-done
	require.Len(t, l.acked, total)
	l.check(t, u)
}

func TestKillEverythingWhileLoading(t *testing.T) {
	data := t.TempDir()
	u, err := start(data)
	require.NoError(t, err)
	var addr atomic.Value
	addr.Store(u.Ingest)
	l := &load{acked: map[string]bool{}}
	total := streamsToPost(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(t.Context(), func() string { return addr.Load().(string) }, total, 200)
	}()
	require.Eventually(t, func() bool { return l.sent.Load() > int64(total/3) }, 2*time.Minute, 5*time.Millisecond)
	u.kill()
	u, err = start(data)
	require.NoError(t, err)
	defer u.interrupt()
	addr.Store(u.Ingest)
	<-done
	require.Len(t, l.acked, total)
	l.check(t, u)
}

// enginePID finds the engine: the only child of `fermata up`.
func enginePID(t *testing.T, parent int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	require.NoError(t, err)
	pids := bytes.Fields(b)
	if len(pids) == 0 { // started from another thread of the parent
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", parent))
		require.NoError(t, err)
		for _, task := range tasks {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", parent, task.Name()))
			require.NoError(t, err)
			pids = append(pids, bytes.Fields(b)...)
		}
	}
	require.Len(t, pids, 1)
	pid, err := strconv.Atoi(string(pids[0]))
	require.NoError(t, err)
	return pid
}
