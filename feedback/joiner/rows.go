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

// rowsOf puts out the rows of requests of one tenant that differ from what was written last, and takes back those of ids
// that turned out to be other requests' answers. now is the database's clock before the records were read, µs.
func (w *worker) rowsOf(ctx context.Context, tenant string, reqs []*requests.Request, answers []*held, now int64) error {
	places, err := w.places(ctx, tenant, reqs, answers)
	if err != nil {
		return err
	}
	if w.out.fresh == nil {
		w.out.fresh = map[*held]written{}
	}
	var content []byte
	write := func(h *held, row *requests.Row) {
		content = requests.Table.AppendContent(content[:0], row)
		state := written{content: xxh3.Hash(content), at: int64(row.StartedAt), version: uint64(now), gone: row.Gone, when: time.Now()} //nolint:gosec // after 1970
		state.running = row.State == string(requests.StateRunning)
		old := places[h.id]
		if h.row.version > 0 {
			if h.row.content == state.content {
				return
			}
			old = []written{h.row}
		}
		for _, o := range old {
			state.version = max(state.version, o.version+1) // the database's clock may have been set back
		}
		row.Version = state.version
		w.out.rows = append(w.out.rows, *row)
		for _, o := range old {
			if o.at != state.at && !o.gone {
				w.out.rows = append(w.out.rows, requests.Row{Tenant: h.tenant, RequestID: h.id, StartedAt: table.Micros(o.at), Version: state.version, Gone: true})
			}
		}
		w.out.fresh[h] = state
	}
	for _, r := range reqs {
		row := r.Row()
		write(w.memory.get(name{tenant, r.RequestID}), &row)
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
func (w *worker) places(ctx context.Context, tenant string, reqs []*requests.Request, answers []*held) (map[string][]written, error) {
	var ids []string
	since, until := int64(noInstant), int64(0)
	for _, r := range reqs {
		if !w.memory.get(name{tenant, r.RequestID}).rowKnown {
			first, last := r.Span()
			since, until = min(since, first), max(until, last)
			ids = append(ids, r.RequestID)
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
