package joiner

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/table"
)

//go:embed queries/stored.sql
var storedSQL string

// written is what is known of the row of a request that was written last; the zero value: none.
type written struct {
	content uint64 // hash of the row but for its version; 0: not known
	at      int64  // its started_at
	version uint64
	gone    bool
	running bool
	when    time.Time
}

// state is what a request's row should say.
type state struct {
	h           *held
	row         requests.Row
	first, last int64 // when the request may have begun, µs
}

// stateOf takes from a request what its row needs.
func (w *worker) stateOf(r *requests.Request) state {
	s := state{h: w.memory.get(name{r.Tenant, r.RequestID}), row: r.Row()}
	s.first, s.last = r.Span()
	s.h.told = r.Client != nil && r.Client.State != requests.StateRunning && s.row.HasServer && r.State != requests.StateRunning
	return s
}

// rowsOf puts out the rows of requests of one tenant that differ from what was written last, and takes back those of ids
// that turned out to be other requests' answers. now is the database's clock before the records were read, µs.
func (w *worker) rowsOf(ctx context.Context, tenant string, states []state, answers []*held, now int64) error {
	places, err := w.places(ctx, tenant, states, answers)
	if err != nil {
		return err
	}
	var content []byte
	write := func(h *held, row *requests.Row) {
		content = requests.Table.AppendContent(content[:0], row)
		is := written{content: xxh3.Hash(content), at: int64(row.StartedAt), version: uint64(now), gone: row.Gone, when: time.Now()} //nolint:gosec // after 1970
		is.running = row.State == string(requests.StateRunning)
		old := places[h.id]
		if h.row.version > 0 {
			if h.row.content == is.content {
				return
			}
			old = []written{h.row}
		}
		for _, o := range old {
			is.version = max(is.version, o.version+1) // the database's clock may have been set back
		}
		row.Version = is.version
		w.out.rows = append(w.out.rows, *row)
		for _, o := range old {
			if o.at != is.at && !o.gone {
				w.out.rows = append(w.out.rows, requests.Row{Tenant: h.tenant, RequestID: h.id, StartedAt: table.Micros(o.at), Version: is.version, Gone: true})
			}
		}
		w.out.fresh[h] = is
	}
	for i := range states {
		write(states[i].h, &states[i].row)
	}
	for _, h := range answers {
		for _, o := range append(places[h.id], h.row) {
			if o.version > 0 && !o.gone {
				write(h, &requests.Row{Tenant: tenant, RequestID: h.id, StartedAt: table.Micros(o.at), Gone: true})
			}
		}
	}
	return nil
}

// slack is how far apart the clocks of a request's tiers may be.
const slack = int64(24 * time.Hour / time.Microsecond)

// places looks up where requests have rows of which nothing is remembered.
func (w *worker) places(ctx context.Context, tenant string, states []state, answers []*held) (map[string][]written, error) {
	var ids []string
	since, until := int64(noInstant), int64(0)
	for i := range states {
		if s := &states[i]; !s.h.rowKnown {
			since, until = min(since, s.first), max(until, s.last)
			ids = append(ids, s.h.id)
		}
	}
	for _, h := range answers {
		if !h.rowKnown {
			since, until = min(since, h.first), max(until, w.now*1_000_000)
			ids = append(ids, h.id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	out := map[string][]written{}
	err := w.query(ctx, "stored", storedSQL, func(rs driver.Rows) error {
		var id string
		var o written
		if err := rs.Scan(&id, &o.at, &o.version, &o.gone); err != nil {
			return err
		}
		out[id] = append(out[id], o)
		return nil
	}, clickhouse.Named("tenant", tenant), clickhouse.Named("ids", ids),
		clickhouse.Named("since", max(0, since-slack)), clickhouse.Named("until", until+slack))
	return out, err
}
