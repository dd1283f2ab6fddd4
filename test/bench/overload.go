package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// answer is what a caller was told.
type answer struct {
	status     int
	retryAfter string
}

func post(ctx context.Context, c *http.Client, addr string, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/chunks", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return answer{resp.StatusCode, resp.Header.Get("Retry-After")}, err
}

// overload lets as many callers as are let in post at the same time, one whole stream each, and then ten times as many.
// Callers come again at once when they are taken, and after Retry-After when they are not.
func (b *bench) overload(ctx context.Context) (err error) {
	db, f, end, err := b.collecting(ctx, "overload")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	callers := int(ingest.NewDefaultLimits().MaxInFlightRequests)
	if b.opt.streams < 10*callers { // a short look
		callers = max(1, b.opt.streams/10)
	}
	b.print("\n### Overload\n\n`POST /v1/chunks`, one stream of %d chunks each, for %s.\n\n", ingestbench.ChunksPerStream, b.opt.live)
	b.print("| callers at a time | taken, per second | p50 / p99 of what was taken | told to come again | memory before; most in the first half, in the second |\n|---|---|---|---|---|\n")
	acked := 0
	var p99 []float64
	for i, times := range []int{1, 10} {
		before := memoryOf(f.pid())
		r, err := b.callers(ctx, f, callers*times, uint64(9000+100*i))
		if err != nil {
			return fmt.Errorf("%w\n%s", err, f.out)
		}
		acked += len(r.took)
		p99 = append(p99, percentile(r.took, 99))
		b.print("| %d | %.0f | %.0f / **%.0f ms** | %d (429: %d, 503: %d) | %d; %d, %d MB |\n", callers*times, float64(len(r.took))/r.lasted.Seconds(),
			percentile(r.took, 50), percentile(r.took, 99), r.busy[http.StatusTooManyRequests]+r.busy[http.StatusServiceUnavailable],
			r.busy[http.StatusTooManyRequests], r.busy[http.StatusServiceUnavailable], before>>20, r.early>>20, r.late>>20)
	}
	if err := waitFor(ctx, db.conn, "SELECT uniqExact(request_id) FROM streams", acked); err != nil {
		return fmt.Errorf("%w\n%s", err, f.out)
	}
	b.print("\np99 at ten times ÷ at once: **%.2f** (wanted ≤ 5). All %d that were taken are stored.\n", p99[1]/p99[0], acked)
	return nil
}

// called is what a crowd of callers saw.
type called struct {
	took        []float64 // ms, of requests that were taken
	busy        map[int]int
	early, late int64 // most bytes of memory in each half
	lasted      time.Duration
}

// callers runs so many callers at the same time. Every refusal must say when to come again.
func (b *bench) callers(ctx context.Context, f *fermata, n int, seed uint64) (called, error) {
	out := called{busy: map[int]int{}}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
	defer client.CloseIdleConnections()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	begin := time.Now()
	until := begin.Add(b.opt.live)
	var mu sync.Mutex
	var wg sync.WaitGroup
	w := ingestbench.NewWorkload(1, seed, time.Now().Add(-time.Minute), time.Second)
	for i := range n {
		wg.Go(func() {
			s := w.Stream(0)
			for k := 0; time.Now().Before(until) && ctx.Err() == nil; k++ {
				s.RequestID = fmt.Sprintf("overload-%d-%d-%d", seed, i, k)
				body := append(streamJSON([]byte{'['}, &s), ']')
				for time.Now().Before(until) {
					sent := time.Now()
					a, err := post(ctx, client, f.ingest, body)
					if err != nil {
						stop(err)
						return
					}
					if a.status == http.StatusOK {
						mu.Lock()
						out.took = append(out.took, float64(time.Since(sent).Microseconds())/1e3)
						mu.Unlock()
						break
					}
					seconds, err := strconv.Atoi(a.retryAfter)
					if err != nil || a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
						stop(fmt.Errorf("answer %d with Retry-After %q", a.status, a.retryAfter))
						return
					}
					mu.Lock()
					out.busy[a.status]++
					mu.Unlock()
					if pause(ctx, time.Duration(seconds)*time.Second) != nil {
						return
					}
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	for done := false; !done; {
		most := &out.early
		if time.Since(begin) > b.opt.live/2 {
			most = &out.late
		}
		*most = max(*most, memoryOf(f.pid()))
		select {
		case <-over:
			done = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	out.lasted = time.Since(begin)
	return out, context.Cause(ctx)
}
