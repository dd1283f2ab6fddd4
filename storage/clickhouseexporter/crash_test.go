package clickhouseexporter

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
)

type clickhouseConn = driver.Conn

// streamsEnv is the number of streams that the crash tests post; the closing proof runs them with 200 000.
const streamsEnv = "FERMATA_TEST_STREAMS"

func crashStreams(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(streamsEnv))
	if err != nil {
		return 20_000
	}
	return n
}

const perPost = 20

// poster posts all streams, perPost at a time, from several connections, and comes again with what was not acknowledged.
type poster struct {
	addr  atomic.Value // of the collector that lives
	acked atomic.Int64
	again atomic.Int64 // posts that were not acknowledged at once
}

func (p *poster) run(t *testing.T, total int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var wg sync.WaitGroup
	deadline := time.Now().Add(10 * patience)
	for range 16 {
		wg.Go(func() {
			for {
				from := int(next.Add(perPost)) - perPost
				if from >= total {
					return
				}
				for !p.post(client, from, min(perPost, total-from)) {
					p.again.Add(1)
					if time.Now().After(deadline) {
						t.Errorf("streams from %d were not acknowledged", from)
						return
					}
					time.Sleep(5 * time.Millisecond) // the collector restarts
				}
			}
		})
	}
	wg.Wait()
}

func (p *poster) post(client *http.Client, from, n int) bool {
	url := fmt.Sprintf("http://%s/?from=%d&n=%d", p.addr.Load(), from, n)
	resp, err := client.Post(url, "", nil)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false
	}
	p.acked.Add(int64(n))
	return true
}

func waitAcked(t *testing.T, p *poster, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return p.acked.Load() >= int64(n) }, 10*patience, time.Millisecond)
}

// requireEachOnce waits until all streams are there and checks that a deduplicated read has each once, whole.
func requireEachOnce(t *testing.T, conn driver.Conn, total int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n uint64
		return conn.QueryRow(context.Background(), "SELECT uniqExact(request_id) FROM streams").Scan(&n) == nil && n == uint64(total)
	}, 10*patience, 50*time.Millisecond)
	var rows, ids, chunks, gaps uint64
	require.NoError(t, conn.QueryRow(context.Background(),
		"SELECT count(), uniqExact(request_id), sum(n_chunks), sum(length(gaps_us)) FROM streams FINAL").Scan(&rows, &ids, &chunks, &gaps))
	require.EqualValues(t, total, rows)
	require.EqualValues(t, total, ids)
	require.EqualValues(t, total*200, chunks)
	require.EqualValues(t, total*199, gaps)
	stored := count(t, conn, "SELECT count() FROM streams")
	t.Logf("%d streams acknowledged, %d rows stored before merges, each stream once when read", total, stored)
}

// The engine is killed three times while streams are posted: nobody is refused, nothing is lost.
func TestEngineKilledWhilePosting(t *testing.T) {
	total := crashStreams(t)
	c := startCollector(t, t.TempDir())
	conn := connect(t, c.DSN)
	p := &poster{}
	p.addr.Store(c.Addr)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(t, total)
	}()
	pid := c.EnginePID
	for i := range 3 {
		waitAcked(t, p, total*(i+1)/5)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, func() bool {
			now := c.enginePID(t)
			restarted := now != 0 && now != pid
			if restarted {
				pid = now
			}
			return restarted
		}, patience, 5*time.Millisecond, "the engine was restarted")
	}
	<-done
	require.Zero(t, p.again.Load(), "the queue takes everything meanwhile")
	requireEachOnce(t, conn, total)
	c.stop(t)
}

// The whole process is killed twice, its engine with it; what was not acknowledged is posted again.
func TestCollectorKilledWhilePosting(t *testing.T) {
	total := crashStreams(t)
	dir := t.TempDir()
	c := startCollector(t, dir)
	p := &poster{}
	p.addr.Store(c.Addr)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(t, total)
	}()
	for i := range 2 {
		waitAcked(t, p, total*(i+1)/4)
		c.kill()
		c = startCollector(t, dir)
		p.addr.Store(c.Addr)
	}
	<-done
	requireEachOnce(t, connect(t, c.DSN), total)
	t.Logf("%d posts came again", p.again.Load())
	c.stop(t)
}

// Killed with a full queue and never posted to again: what was acknowledged is there, and nothing was made up.
func TestAcknowledgedOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	c := startCollector(t, dir)
	require.NoError(t, syscall.Kill(c.EnginePID, syscall.SIGSTOP)) // all of it stays in the queue
	p := &poster{}
	p.addr.Store(c.Addr)
	const total = 4000
	p.run(t, total)
	for range 3 {
		c.kill()
		c = startCollector(t, dir)
	}
	requireEachOnce(t, connect(t, c.DSN), total)
	c.stop(t)
}
