package ingest

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/fermata-io/fermata/internal/wire"
)

// Format is how a media type's body is cut into items.
type Format uint8

// The formats.
const (
	JSON   Format = iota // one object, an array of objects, or objects one after the other
	NDJSON               // one object on each line
)

// MediaTypes are the media types of JSON and NDJSON bodies. A request without one is taken as JSON.
func MediaTypes() map[string]Format {
	return map[string]Format{
		"application/json":       JSON,
		"application/x-ndjson":   NDJSON,
		"application/ndjson":     NDJSON,
		"application/jsonl":      NDJSON,
		"application/x-jsonl":    NDJSON,
		"application/jsonlines":  NDJSON,
		"application/json-lines": NDJSON,
	}
}

// DecodeFunc reads a body's items into the batch. Of the request it may use headers; it must keep nothing of
// body.
type DecodeFunc func(r *http.Request, body []byte, opt wire.DecodeOptions, b *Batch)

// HandlerConfig makes a Handler.
type HandlerConfig struct {
	// Receiver has the id and telemetry of the receiver the endpoint belongs to.
	Receiver receiver.Settings
	// Path is the endpoint's path, for counters.
	Path string
	// Limits bound requests and records.
	Limits LimitsConfig
	// MediaTypes are what the endpoint takes. Nil: MediaTypes().
	MediaTypes map[string]Format
	// SniffGzip takes a body without Content-Encoding that begins as gzip does as gzip: navigator.sendBeacon can set no
	// header. Without it such a body is no JSON.
	SniffGzip bool
	// OKStatus answers a request whose items were all taken. 0: 200.
	OKStatus int
	// ForwardText lets the text of chunks go into the pipeline.
	ForwardText bool
	// Decode reads a body.
	Decode DecodeFunc
	// Next takes the records.
	Next consumer.Logs
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Handler serves one ingest endpoint: it admits, reads, decodes, hands on and answers.
type Handler struct {
	cfg   HandlerConfig
	adm   admission
	pools pools
	tel   *telemetry
	obs   *receiverhelper.ObsReport
	want  string // media types, for errors
}

// NewHandler makes a Handler. The error is about its instruments.
func NewHandler(cfg HandlerConfig) (*Handler, error) {
	if cfg.MediaTypes == nil {
		cfg.MediaTypes = MediaTypes()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OKStatus == 0 {
		cfg.OKStatus = http.StatusOK
	}
	tel, err := newTelemetry(cfg.Receiver.TelemetrySettings, cfg.Receiver.ID.String(), cfg.Path)
	if err != nil {
		return nil, err
	}
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: cfg.Receiver.ID, Transport: "http", ReceiverCreateSettings: cfg.Receiver,
	})
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, tel: tel, obs: obs, want: "application/json or application/x-ndjson"}
	if _, ok := cfg.MediaTypes["text/plain"]; ok {
		h.want = "application/json, application/x-ndjson or text/plain"
	}
	h.adm.maxRequests, h.adm.maxBytes = cfg.Limits.MaxInFlightRequests, cfg.Limits.MaxInFlightBytes
	return h, nil
}

// ServeHTTP answers as Answer and the statuses in the package's documentation say.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		ref := new(refusal)
		if !errors.As(err, &ref) {
			ref = refuse(http.StatusInternalServerError, reasonPipeline, "(server)", "failed")
		}
		h.tel.refuse(r.Context(), ref.reason)
		switch ref.status {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", http.MethodPost)
		case http.StatusUnsupportedMediaType:
			w.Header().Set("Accept-Encoding", acceptEncoding)
			w.Header().Set("Accept-Post", h.want)
		}
		WriteError(w, ref.status, ref.field, ref.text, h.cfg.Limits.RetryAfter)
	}
}

// serve answers a request, unless it returns a refusal.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, reasonMethod, "(method)", "is not POST")
	}
	format, err := h.format(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if !h.adm.enter() {
		return refuse(http.StatusTooManyRequests, reasonOverload, "(request)",
			"can't be taken now: limits::max_in_flight_requests (%d) are in work", h.adm.maxRequests)
	}
	defer h.adm.leave()
	body, err := h.pools.readBody(r, &h.adm, h.cfg.Limits.MaxBodyBytes, h.cfg.SniffGzip)
	if err != nil {
		return err
	}
	defer body.release()
	h.tel.received.Add(r.Context(), body.wire, h.tel.attrs)
	h.tel.decoded.Add(r.Context(), int64(len(body.data)), h.tel.attrs)

	now := h.cfg.Now()
	b := NewBatch(now, h.cfg.ForwardText)
	h.cfg.Decode(r, body.data, wire.DecodeOptions{
		Limits: h.cfg.Limits.Wire(), Now: now, NDJSON: format == NDJSON, MaxItems: h.cfg.Limits.MaxItems, KeepText: h.cfg.ForwardText,
	}, b)
	status := h.cfg.OKStatus
	if b.answer.Rejected > 0 {
		status = http.StatusBadRequest
	}
	accepted := b.answer.Accepted
	if err := h.consume(r.Context(), b); err != nil {
		status = StatusFor(err)
		reason, text := reasonBusy, "can't take the records now; send them again"
		switch status {
		case http.StatusBadRequest:
			reason, text = reasonPipeline, "refused the records for good; see the log of the collector"
		case http.StatusTooManyRequests:
			text = "asks to slow down; send the records again later"
		}
		h.tel.refuse(r.Context(), reason)
		accepted, b.answer.Accepted = 0, 0
		b.answer.Errors = append([]AnswerError{{Field: "(pipeline)", Reason: text}}, b.answer.Errors[:min(len(b.answer.Errors), MaxErrors-1)]...)
	}
	if accepted > 0 && b.taken != nil {
		b.taken()
	}
	h.tel.batch(r.Context(), b, accepted)
	b.answer.write(w, status, h.cfg.Limits.RetryAfter)
	return nil
}

// consume hands the records to the pipeline; nil means that they were taken.
func (h *Handler) consume(ctx context.Context, b *Batch) error {
	n := b.records.Len()
	if n == 0 {
		return nil
	}
	ctx = h.obs.StartLogsOp(ctx)
	err := h.cfg.Next.ConsumeLogs(ctx, b.logs)
	h.obs.EndLogsOp(ctx, "json", n, err)
	return err
}

// format reads a Content-Type.
func (h *Handler) format(contentType string) (Format, error) {
	if contentType == "" {
		return JSON, nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, refuse(http.StatusUnsupportedMediaType, reasonMedia, "Content-Type", "is malformed; want %s", h.want)
	}
	f, ok := h.cfg.MediaTypes[media]
	if !ok {
		return 0, refuse(http.StatusUnsupportedMediaType, reasonMedia, "Content-Type", "is not supported; want %s", h.want)
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii":
		return f, nil
	}
	return 0, refuse(http.StatusUnsupportedMediaType, reasonMedia, "Content-Type", "has a charset that is not supported; want utf-8")
}
