package rumreceiver

import (
	"net/http"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/faro"
)

// defaultTenant is the tenant of a key that names none.
const defaultTenant = wire.DefaultTenant

// decoder reads bodies into records.
type decoder struct {
	userAgent  bool
	countries  *countries
	duplicates *duplicates
	tel        *telemetry
}

// intake takes the streams of one body.
type intake struct {
	*decoder
	r        *http.Request
	from     *sender
	batch    *ingest.Batch
	delivery delivery
	fresh    []uint64 // keys of the streams that were not known
	country  string
	located  bool
}

func (d *decoder) intake(r *http.Request, body []byte, b *ingest.Batch) *intake {
	return &intake{decoder: d, r: r, from: senderOf(r), batch: b, delivery: delivery{body: body}}
}

// decode reads the body of POST /v1/rum.
func (d *decoder) decode(r *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	in := d.intake(r, body, b)
	stats := wire.EachClient(body, opt, func(_ int, c *wire.Client, err *wire.ItemError) {
		if err != nil {
			b.Reject(err)
			return
		}
		in.take(c)
	})
	b.Ignore(stats.Unknown)
	in.remember()
}

// decodeFaro reads the body of POST /collect.
func (d *decoder) decodeFaro(r *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	in := d.intake(r, body, b)
	in.delivery.once = r.Header.Get("Idempotency-Key")
	got, err := faro.Read(body, faro.Options{SessionID: r.Header.Get("X-Faro-Session-Id"), MaxItems: opt.MaxItems})
	for signal, n := range got.Ignored {
		if n > 0 {
			d.tel.ignored.Add(r.Context(), int64(n), d.tel.signals[signal])
		}
	}
	opt.NDJSON = false
	for i, item := range got.Items {
		if item.Err != nil {
			b.Reject(&wire.ItemError{Index: i, Err: item.Err})
			continue
		}
		stats := wire.EachClient(item.Body, opt, func(_ int, c *wire.Client, err *wire.ItemError) {
			if err != nil {
				err.Index = i
				b.Reject(err)
				return
			}
			in.take(c)
		})
		b.Ignore(stats.Unknown)
	}
	if err != nil {
		b.Reject(&wire.ItemError{Index: len(got.Items), Err: err})
	}
	in.remember()
}

// take adds a valid stream to the batch.
func (in *intake) take(c *wire.Client) {
	if k := in.from.key; k.tenant != "" {
		c.Tenant = k.tenant
	}
	if app := in.from.key.app; app != "" {
		c.App = app
	}
	in.batch.Accept()
	if in.duplicates != nil {
		if key, ok := in.delivery.key(c); ok {
			if in.duplicates.known(key) {
				in.tel.duplicates.Add(in.r.Context(), 1, in.tel.attrs)
				return
			}
			in.fresh = append(in.fresh, key)
		}
	}
	if a := &in.from.agent; in.userAgent && c.Browser == "" && c.OS == "" && c.Device == "" {
		c.Browser, c.OS, c.Device = a.browser, a.os, a.device
	}
	if in.countries != nil {
		if !in.located {
			in.country, in.located = in.countries.of(in.from.ip), true
		}
		if in.country != "" {
			c.Country = in.country
		}
	}
	if c.RequestID == "" && c.ResponseID == "" && c.TraceID == "" && len(c.Aliases) == 0 {
		in.tel.unjoined.Add(in.r.Context(), 1, in.tel.attrs)
	}
	in.batch.AddClient(c)
}

// remember has the streams remembered once they are safe: one that is sent again because of a 503 is no duplicate.
func (in *intake) remember() {
	if keys := in.fresh; len(keys) > 0 {
		seen := in.duplicates
		in.batch.OnTaken(func() { seen.add(keys) })
	}
}
