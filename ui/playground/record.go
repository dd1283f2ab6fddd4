package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// recordTimeout bounds the sending of one record.
const recordTimeout = 5 * time.Second

// passage is one question on its way through this process, which is the page's gateway: the tier between the tap and
// the page, before any fault of the way.
type passage struct {
	upstream         string
	received, sent   time.Time
	firstByte, ended time.Time
	cancelled        time.Time // when the page gave up
	status           int
	requestID        string
}

type passageKey struct{}

func passageOf(ctx context.Context) *passage {
	p, _ := ctx.Value(passageKey{}).(*passage)
	return p
}

// watched notes when an answer's first byte and its end came by.
type watched struct {
	io.ReadCloser
	p *passage
}

// Read passes on.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if n > 0 && w.p.firstByte.IsZero() {
		w.p.firstByte = time.Now()
	}
	if err != nil && w.p.ended.IsZero() {
		w.p.ended = time.Now()
	}
	return n, err
}

// record is the passage as POST /v1/gateway takes it; nil when the request has no id that joins it.
func (p *passage) record() []byte {
	if !wire.ValidID(p.requestID) {
		return nil
	}
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
	us := func(t time.Time) int64 {
		if t.IsZero() {
			return 0 // the same as absent
		}
		return t.UnixMicro()
	}
	v := map[string]any{
		"request_id": p.requestID, "emitter": "playground", "app": "playground", "status": p.status,
		"received_at": us(p.received), "upstream_sent_at": us(p.sent), "first_byte_at": us(p.firstByte),
		"upstream_closed_at": us(p.ended),
		"attempts": []map[string]any{{
			"attempt": 1, "deployment": p.upstream, "start": us(p.sent), "end": us(p.ended), "status": p.status, "served": true,
		}},
	}
	if p.cancelled.IsZero() {
		v["last_byte_at"] = us(p.ended)
	} else {
		v["cancelled_at"] = us(p.cancelled)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// tell sends the record beside the answer, which has no reason to wait for it.
func (p *proxy) tell(ctx context.Context, pass *passage) {
	host, body := p.opt.Ingest(), pass.record()
	if host == "" || body == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	p.telling.Go(func() {
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/v1/gateway", bytes.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := p.transport().RoundTrip(req)
		if err != nil {
			return // the receiver counts what it gets; an answer without this record is still joined
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	})
}
