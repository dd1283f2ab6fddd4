package genai

import (
	"errors"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

func hasChunks(attrs otlpwire.Attrs) bool {
	for i := range attrs {
		if strings.HasPrefix(attrs[i].Key, "fermata.chunks.") {
			return true
		}
	}
	return false
}

// record puts a record's attributes where streamlog reads them, so that its tables stay the only place
// where keys and fields meet. With own, only Fermata's keys are taken: foreign ones have looser types. Its keys are views.
func record(lr plog.LogRecord, attrs otlpwire.Attrs, own bool) (sealed bool, err error) {
	m := lr.Attributes()
	m.RemoveIf(func(string, pcommon.Value) bool { return true }) // Clear would give up the room
	m.EnsureCapacity(len(attrs))
	for i := range attrs {
		key := attrs[i].Key
		if own && !strings.HasPrefix(key, "fermata.") {
			continue
		}
		sealed = sealed || key == streamlog.KeySeq || key == streamlog.KeyFinal
		if err := attrs[i].Value.CopyTo(m.PutEmpty(key)); err != nil {
			return sealed, err
		}
	}
	return sealed, nil
}

// readNative sets what a span says with Fermata's own attributes.
func readNative(attrs otlpwire.Attrs, s *wire.Stream, opts Options) error {
	lr := plog.NewLogRecord()
	sealed, err := record(lr, attrs, true)
	if err != nil {
		return err
	}
	final := s.Final
	if *s, err = streamlog.Stream(lr, opts.Limits.MaxChunks); err != nil {
		return err
	}
	if !sealed {
		s.Final = final
	}
	measureText(&s.Chunks, opts.KeepText)
	return nil
}

// addNative takes a log record in streamlog's form.
func (b *Batch) addNative(index int, lr *otlpwire.LogRecord, event string) {
	rec := b.native
	sealed, err := record(rec, lr.Attrs, false)
	if err != nil {
		b.reject(index, 1, "", err)
		return
	}
	limits := b.t.opts.Limits
	switch event {
	case streamlog.EventStream:
		s := &b.record
		// The last record's arrays are in the result: these get room of their own.
		n := streamlog.Entries(lr.Attrs.Get(streamlog.KeyOffsets).Raw())
		s.Chunks = wire.Chunks{T: b.offsets(min(n, limits.MaxChunks))}
		if err := streamlog.ReadStream(rec, s, limits.MaxChunks); err != nil {
			b.reject(index, 1, s.RequestID, err)
			return
		}
		s.Final = s.Final || !sealed
		measureText(&s.Chunks, b.t.opts.KeepText)
		s.TraceID, s.SpanID = first(s.TraceID, hexID(lr.TraceID, 16)), first(s.SpanID, hexID(lr.SpanID, 8))
		s.Tenant = b.tenantOf(rec, s.Tenant)
		s.Emitter = first(s.Emitter, b.resource.emitter, b.resource.service)
		s.Region = first(s.Region, b.resource.region)
		if s.StartedAt == 0 {
			s.StartedAt = micros(lr.Time)
		}
		b.accept(index, 1, s, FromRequestID)
	case streamlog.EventGateway:
		g, err := streamlog.Gateway(rec, limits.MaxChunks)
		if err == nil {
			g.Tenant = b.tenantOf(rec, g.Tenant)
			g.TraceID = first(g.TraceID, hexID(lr.TraceID, 16))
			err = g.Validate(b.now, limits)
		}
		if err == nil {
			err = b.room()
		}
		if err != nil {
			b.reject(index, 1, g.RequestID, err)
			return
		}
		b.res.Gateways = append(b.res.Gateways, g)
		b.res.Accepted++
	case streamlog.EventClient:
		c, err := streamlog.Client(rec, limits.MaxChunks)
		if err == nil {
			c.Tenant = b.tenantOf(rec, c.Tenant)
			c.ReceivedAt = b.now.UnixMicro()
			for _, ch := range []*wire.Chunks{&c.Recv, &c.DOM, &c.Paint} {
				measureText(ch, b.t.opts.KeepText)
			}
			err = c.Validate(b.now, limits)
		}
		if err == nil {
			err = b.room()
		}
		if err != nil {
			b.reject(index, 1, c.RequestID, err)
			return
		}
		b.res.Clients = append(b.res.Clients, c)
		b.res.Accepted++
	default:
		b.reject(index, 1, "", errors.New("event_name: is not known: "+event))
	}
}

// tenantOf lets the resource name the tenant of records that name none.
func (b *Batch) tenantOf(rec plog.LogRecord, tenant string) string {
	if _, ok := rec.Attributes().Get(streamlog.KeyTenant); !ok && b.resource.tenant != "" {
		return b.resource.tenant
	}
	return tenant
}

// measureText counts text that came without sizes, and drops it unless it is to be kept.
func measureText(c *wire.Chunks, keep bool) {
	if len(c.Text) == 0 {
		return
	}
	if len(c.Bytes) == 0 && len(c.Text) == len(c.T) {
		c.Bytes = make([]uint32, len(c.Text))
		for i, s := range c.Text {
			c.Bytes[i] = uint32(len(s)) //nolint:gosec // shorter than the request
		}
	}
	if !keep {
		c.Text = nil
	}
}
