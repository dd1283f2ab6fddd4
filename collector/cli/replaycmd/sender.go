package replaycmd

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

	"github.com/fermata-io/fermata/internal/replay"
	"github.com/fermata-io/fermata/internal/wire"
)

// A batch is sent when it has one of these.
const (
	batchItems = 1000
	batchBytes = 2 << 20
)

// maxAnswer bounds an answer of an ingest endpoint.
const maxAnswer = 4 << 20

// item is one JSON value to send.
type item struct {
	path string
	otlp bool
	id   string // request id, for messages
	body []byte
	n    int // records in it
}

// items encodes a record; a stream with too many chunks becomes several segments.
func items(rec replay.Record) []item {
	switch {
	case rec.Stream != nil:
		var out []item
		for _, s := range replay.Segments(rec.Stream, wire.NewDefaultLimits().MaxChunks) {
			out = append(out, item{path: "/v1/chunks", id: s.RequestID, body: wire.AppendStreamJSON(nil, s), n: 1})
		}
		return out
	case rec.Gateway != nil:
		return []item{{path: "/v1/gateway", id: rec.Gateway.RequestID, body: wire.AppendGatewayJSON(nil, rec.Gateway), n: 1}}
	case rec.Client != nil:
		return []item{{path: "/v1/rum", id: rec.Client.RequestID, body: wire.AppendClientJSON(nil, rec.Client), n: 1}}
	case rec.Raw != nil:
		return []item{{path: rec.Raw.Path, otlp: rec.Raw.OTLP, body: rec.Raw.Body, n: rec.Raw.Items}}
	}
	return nil
}

// sender posts items in batches, one endpoint after the other, and counts the answers.
type sender struct {
	ingest, otlp string
	http         *http.Client
	limit        *rate.Limiter
	retryFor     time.Duration
	progress     func(n int)

	batch []item
	size  int

	accepted, rejected int
	reasons            []string
	more               int // rejections whose reason isn't told
}

func newSender(perSecond float64, retryFor time.Duration) *sender {
	s := &sender{
		http:     &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: 2 * time.Minute},
		retryFor: retryFor, progress: func(int) {},
	}
	if perSecond > 0 {
		s.limit = rate.NewLimiter(rate.Limit(perSecond), max(1, min(batchItems, int(perSecond))))
	}
	return s
}

func (s *sender) close() { s.http.CloseIdleConnections() }

// add puts a record into the batch, and sends that when it is full or for another endpoint.
func (s *sender) add(ctx context.Context, rec replay.Record) error {
	for _, it := range items(rec) {
		if s.limit != nil {
			if err := s.limit.WaitN(ctx, 1); err != nil {
				return err
			}
		}
		full := len(s.batch) > 0 && (s.batch[0].path != it.path || it.otlp || s.size+len(it.body) > batchBytes || len(s.batch) >= batchItems)
		slow := s.limit != nil && len(s.batch) >= max(1, int(float64(s.limit.Limit())/4))
		if full || slow {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
		s.batch = append(s.batch, it)
		s.size += len(it.body) + 1
	}
	return nil
}

// flush sends what is in the batch.
func (s *sender) flush(ctx context.Context) error {
	batch := s.batch
	s.batch, s.size = nil, 0
	if len(batch) == 0 {
		return nil
	}
	return s.send(ctx, batch)
}

func (s *sender) send(ctx context.Context, batch []item) error {
	base, name := s.ingest, "--ingest"
	contentType := "application/x-ndjson"
	if batch[0].otlp {
		base, name, contentType = s.otlp, "--otlp", "application/json"
	}
	if base == "" {
		return fmt.Errorf("don't know where to send to: %s is not given and the running `fermata up` has no such listener", name)
	}
	var body bytes.Buffer
	for _, it := range batch {
		body.Write(it.body)
		body.WriteByte('\n')
	}
	status, answer, err := s.post(ctx, base+batch[0].path, contentType, body.Bytes())
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
		s.reject(batch[0].n, batch[0].id+": larger than the endpoint takes")
	case batch[0].otlp:
		s.countOTLP(batch[0], status, answer)
	default:
		if err := s.count(batch, status, answer); err != nil {
			return fmt.Errorf("POST %s%s: %w", base, batch[0].path, err)
		}
	}
	s.progress(len(batch))
	return nil
}

// count reads an answer of an ingest endpoint: it tells each item that was refused.
func (s *sender) count(batch []item, status int, answer []byte) error {
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
		s.accepted += len(batch)
		return nil
	case status/100 != 2 && (status != http.StatusBadRequest || !known):
		return fmt.Errorf("answered %d %s", status, http.StatusText(status))
	case a.Accepted+a.Rejected == 0: // the body as a whole was refused
		return fmt.Errorf("answered %d: %s %s", status, a.Errors[0].Field, a.Errors[0].Reason)
	}
	s.accepted += a.Accepted
	s.rejected += a.Rejected
	told := map[int]bool{}
	for _, e := range a.Errors {
		id := e.RequestID
		if e.Index != nil {
			told[*e.Index] = true
			if id == "" && *e.Index >= 0 && *e.Index < len(batch) {
				id = batch[*e.Index].id
			}
		}
		s.tell(strings.TrimPrefix(id+": ", ": ") + strings.TrimSpace(e.Field+" "+e.Reason))
	}
	s.more += max(0, a.Rejected-len(told))
	return nil
}

// countOTLP reads an answer of an OTLP endpoint, with its partial success.
func (s *sender) countOTLP(it item, status int, answer []byte) {
	if status/100 != 2 {
		s.reject(it.n, fmt.Sprintf("OTLP endpoint answered %d %s", status, http.StatusText(status)))
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
				bad += int(min(v, int64(it.n)))
			}
		}
	}
	bad = min(bad, it.n)
	s.accepted += it.n - bad
	if bad > 0 {
		s.reject(bad, a.PartialSuccess.Message)
	}
}

func (s *sender) reject(n int, reason string) {
	s.rejected += n
	s.tell(reason)
}

func (s *sender) tell(reason string) {
	if len(s.reasons) < 20 && !slices.Contains(s.reasons, reason) {
		s.reasons = append(s.reasons, reason)
		return
	}
	s.more++
}

// post sends a body and tries again while the endpoint is busy or away, as long as retryFor says.
func (s *sender) post(ctx context.Context, url, contentType string, body []byte) (int, []byte, error) {
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

func (s *sender) once(ctx context.Context, url, contentType string, body []byte) (status int, answer []byte, after time.Duration, err error) {
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
