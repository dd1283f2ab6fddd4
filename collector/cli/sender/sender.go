// Package sender posts records to the ingest endpoints of a running Fermata, in batches, as long as they are busy or away.
package sender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
)

// A batch is sent when it has one of these.
const (
	batchItems = 1000
	batchBytes = 2 << 20
)

// maxAnswer bounds an answer of an ingest endpoint.
const maxAnswer = 4 << 20

// Item is one JSON value to send.
type Item struct {
	Path string // of the endpoint
	OTLP bool   // to the OTLP/HTTP listener, alone in its body; else to the ingest listener
	ID   string // request id, for messages
	Body []byte
	N    int // records in it
}

// Sender posts items in batches, one batch for each endpoint, and counts the answers. It is used by one goroutine.
type Sender struct {
	Ingest, OTLP string // base URLs of the listeners; empty: not known
	// Progress is told how many items were answered. Default: nobody is.
	Progress func(n int)

	// What was answered so far.
	Accepted, Rejected int
	Reasons            []string // of rejections, each once, at most 20
	More               int      // rejections whose reason isn't told

	http     *http.Client
	limit    *rate.Limiter
	retryFor time.Duration
	batches  []*batch
}

// batch is what waits to be sent to one endpoint.
type batch struct {
	path  string
	items []Item
	size  int
}

// New makes a Sender that knows no address yet. perSecond bounds the items sent in a second, 0: no bound; retryFor is how long it
// goes on when the endpoint is busy or away.
func New(perSecond float64, retryFor time.Duration) *Sender {
	s := &Sender{
		http:     &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: 2 * time.Minute},
		retryFor: retryFor, Progress: func(int) {},
	}
	if perSecond > 0 {
		s.limit = rate.NewLimiter(rate.Limit(perSecond), max(1, min(batchItems, int(perSecond))))
	}
	return s
}

// To sets the addresses: those that are given as --ingest and --otlp, else those of the running `fermata up`.
func (s *Sender) To(where client.Where, ingest, otlp string) error {
	if ingest == "" || otlp == "" {
		r, err := where.Ready()
		if err != nil && ingest == "" && otlp == "" {
			return err
		}
		if ingest == "" {
			s.Ingest, _ = client.BaseURL(r.Ingest)
		}
		if otlp == "" {
			s.OTLP, _ = client.BaseURL(r.OTLPHTTP)
		}
	}
	for _, x := range []struct {
		flag, given string
		to          *string
	}{{"--ingest", ingest, &s.Ingest}, {"--otlp", otlp, &s.OTLP}} {
		if x.given == "" {
			continue
		}
		u, err := client.BaseURL(x.given)
		if err != nil {
			return cli.Usage(fmt.Errorf("%s: %w", x.flag, err))
		}
		*x.to = u
	}
	return nil
}

// Close drops idle connections.
func (s *Sender) Close() { s.http.CloseIdleConnections() }

// Add puts an item into the batch of its endpoint, and sends that when it is full.
func (s *Sender) Add(ctx context.Context, it Item) error {
	if s.limit != nil {
		if err := s.limit.WaitN(ctx, 1); err != nil {
			return err
		}
	}
	b := s.batch(it.Path)
	full := len(b.items) > 0 && (it.OTLP || b.size+len(it.Body) > batchBytes || len(b.items) >= batchItems)
	slow := s.limit != nil && len(b.items) >= max(1, int(float64(s.limit.Limit())/4))
	if full || slow {
		if err := s.flush(ctx, b); err != nil {
			return err
		}
	}
	b.items = append(b.items, it)
	b.size += len(it.Body) + 1
	return nil
}

func (s *Sender) batch(path string) *batch {
	for _, b := range s.batches {
		if b.path == path {
			return b
		}
	}
	b := &batch{path: path}
	s.batches = append(s.batches, b)
	return b
}

// Flush sends what waits.
func (s *Sender) Flush(ctx context.Context) error {
	for _, b := range s.batches {
		if err := s.flush(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sender) flush(ctx context.Context, b *batch) error {
	items := b.items
	b.items, b.size = nil, 0
	if len(items) == 0 {
		return nil
	}
	return s.send(ctx, items)
}

func (s *Sender) send(ctx context.Context, batch []Item) error {
	base, name := s.Ingest, "--ingest"
	contentType := "application/x-ndjson"
	if batch[0].OTLP {
		base, name, contentType = s.OTLP, "--otlp", "application/json"
	}
	if base == "" {
		return fmt.Errorf("don't know where to send to: %s is not given and the running `fermata up` has no such listener", name)
	}
	var body bytes.Buffer
	for _, it := range batch {
		body.Write(it.Body)
		body.WriteByte('\n')
	}
	status, answer, err := s.post(ctx, base+batch[0].Path, contentType, body.Bytes())
	if err != nil {
		return err
	}
	switch {
	case status == http.StatusRequestEntityTooLarge && len(batch) > 1:
		half := len(batch) / 2
		if err := s.send(ctx, batch[:half]); err != nil {
			return err
		}
		return s.send(ctx, batch[half:])
	case status == http.StatusRequestEntityTooLarge:
		s.reject(batch[0].N, batch[0].ID+": larger than the endpoint takes")
	case batch[0].OTLP:
		s.countOTLP(batch[0], status, answer)
	default:
		if err := s.count(batch, status, answer); err != nil {
			return fmt.Errorf("POST %s%s: %w", base, batch[0].Path, err)
		}
	}
	s.Progress(len(batch))
	return nil
}

// count reads an answer of an ingest endpoint: it tells each item that was refused.
func (s *Sender) count(batch []Item, status int, answer []byte) error {
	var a struct {
		Accepted int `json:"accepted"`
		Rejected int `json:"rejected"`
		Errors   []struct {
			Index     *int   `json:"index"`
			RequestID string `json:"request_id"`
			Field     string `json:"field"`
			Reason    string `json:"reason"`
		} `json:"errors"`
	}
	known := json.Unmarshal(answer, &a) == nil && a.Accepted+a.Rejected+len(a.Errors) > 0
	switch {
	case status/100 == 2 && !known:
		s.Accepted += len(batch)
		return nil
	case status/100 != 2 && (status != http.StatusBadRequest || !known):
		return fmt.Errorf("answered %d %s", status, http.StatusText(status))
	case a.Accepted+a.Rejected == 0: // the body as a whole was refused
		return fmt.Errorf("answered %d: %s %s", status, a.Errors[0].Field, a.Errors[0].Reason)
	}
	s.Accepted += a.Accepted
	s.Rejected += a.Rejected
	told := map[int]bool{}
	for _, e := range a.Errors {
		id := e.RequestID
		if e.Index != nil {
			told[*e.Index] = true
			if id == "" && *e.Index >= 0 && *e.Index < len(batch) {
				id = batch[*e.Index].ID
			}
		}
		s.tell(strings.TrimPrefix(id+": ", ": ") + strings.TrimSpace(e.Field+" "+e.Reason))
	}
	s.More += max(0, a.Rejected-len(told))
	return nil
}

// countOTLP reads an answer of an OTLP endpoint, with its partial success.
func (s *Sender) countOTLP(it Item, status int, answer []byte) {
	if status/100 != 2 {
		s.reject(it.N, fmt.Sprintf("OTLP endpoint answered %d %s", status, http.StatusText(status)))
		return
	}
	var a struct {
		PartialSuccess struct {
			Logs    json.Number `json:"rejectedLogRecords"`
			Spans   json.Number `json:"rejectedSpans"`
			Message string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	bad := 0
	if json.Unmarshal(answer, &a) == nil {
		for _, n := range []json.Number{a.PartialSuccess.Logs, a.PartialSuccess.Spans} {
			if v, err := n.Int64(); err == nil {
				bad += int(min(v, int64(it.N)))
			}
		}
	}
	bad = min(bad, it.N)
	s.Accepted += it.N - bad
	if bad > 0 {
		s.reject(bad, a.PartialSuccess.Message)
	}
}

func (s *Sender) reject(n int, reason string) {
	s.Rejected += n
	s.tell(reason)
}

func (s *Sender) tell(reason string) {
	if len(s.Reasons) < 20 && !slices.Contains(s.Reasons, reason) {
		s.Reasons = append(s.Reasons, reason)
		return
	}
	s.More++
}

// post sends a body and tries again while the endpoint is busy or away, as long as retryFor says.
func (s *Sender) post(ctx context.Context, url, contentType string, body []byte) (int, []byte, error) {
	until := time.Now().Add(s.retryFor)
	wait := 250 * time.Millisecond
	for {
		status, answer, after, err := s.once(ctx, url, contentType, body)
		if err == nil && !retryable(status) {
			return status, answer, nil
		}
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		if after < wait {
			after = wait
		}
		if time.Now().Add(after).After(until) {
			if err == nil {
				err = fmt.Errorf("POST %s: answered %d %s for longer than %s (--retry-for)", url, status, http.StatusText(status), s.retryFor)
			}
			return 0, nil, err
		}
		t := time.NewTimer(after)
		select {
		case <-ctx.Done():
			t.Stop()
			return 0, nil, ctx.Err()
		case <-t.C:
		}
		wait = min(wait*2, 8*time.Second)
	}
}

func retryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (s *Sender) once(ctx context.Context, url, contentType string, body []byte) (status int, answer []byte, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, 0, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("%w; is `fermata up` running there?", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, 0, errors.Join(errors.New("read the endpoint's answer"), err)
	}
	return resp.StatusCode, answer, retryAfter(resp.Header.Get("Retry-After"), time.Now()), nil
}

// retryAfter reads the header's two forms; at most a minute.
func retryAfter(v string, now time.Time) time.Duration {
	d := time.Duration(0)
	if sec, err := strconv.Atoi(v); err == nil {
		d = time.Duration(sec) * time.Second
	} else if t, err := http.ParseTime(v); err == nil {
		d = t.Sub(now)
	}
	return max(0, min(d, time.Minute))
}
