package genai

import (
	"errors"
	"strings"

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

// sealed reports whether a record says if it is a stream's last.
func sealed(attrs otlpwire.Attrs) bool {
	return !attrs.Get(streamlog.KeySeq).IsZero() || !attrs.Get(streamlog.KeyFinal).IsZero()
}

// own picks Fermata's own attributes: foreign ones have looser types.
func own(attrs otlpwire.Attrs) otlpwire.Attrs {
	var out otlpwire.Attrs
	for _, a := range attrs {
		if strings.HasPrefix(a.Key, "fermata.") {
			out = append(out, a)
		}
	}
	return out
}

// readNative sets what a span says with Fermata's own attributes.
func readNative(attrs otlpwire.Attrs, s *wire.Stream, opts Options) error {
	attrs = own(attrs)
	final := s.Final
	*s = wire.Stream{}
	if err := (streamlog.View{Attrs: attrs, Most: opts.Limits.MaxChunks}).Stream(s); err != nil {
		return err
	}
	if !sealed(attrs) {
		s.Final = final
	}
	measureText(&s.Chunks, opts.KeepText)
	return nil
}

// addNative takes a log record in streamlog's form.
func (b *Batch) addNative(index int, lr *otlpwire.LogRecord, event string) {
	limits := b.t.opts.Limits
	rec := streamlog.View{Attrs: lr.Attrs, Most: limits.MaxChunks}
	switch event {
	case streamlog.EventStream:
		s := &b.record
		// The last record's arrays are in the result: these get room of their own.
		n := streamlog.Entries(lr.Attrs.Get(streamlog.KeyOffsets).Raw())
		s.Chunks = wire.Chunks{T: b.offsets(min(n, limits.MaxChunks))}
		if err := rec.Stream(s); err != nil {
			b.reject(index, 1, s.RequestID, err)
			return
		}
		s.Final = s.Final || !sealed(lr.Attrs)
		measureText(&s.Chunks, b.t.opts.KeepText)
		s.TraceID, s.SpanID = first(s.TraceID, hexID(lr.TraceID, 16)), first(s.SpanID, hexID(lr.SpanID, 8))
		s.Tenant = b.tenantOf(lr.Attrs, s.Tenant)
		s.Emitter = first(s.Emitter, b.resource.emitter, b.resource.service)
		s.Region = first(s.Region, b.resource.region)
		if s.StartedAt == 0 {
			s.StartedAt = micros(lr.Time)
		}
		b.accept(index, 1, s, FromRequestID)
	case streamlog.EventGateway:
		g, err := rec.Gateway()
		if err == nil {
			g.Tenant = b.tenantOf(lr.Attrs, g.Tenant)
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
		c, err := rec.Client()
		if err == nil {
			c.Tenant = b.tenantOf(lr.Attrs, c.Tenant)
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
func (b *Batch) tenantOf(attrs otlpwire.Attrs, tenant string) string {
	if attrs.Get(streamlog.KeyTenant).IsZero() && b.resource.tenant != "" {
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
