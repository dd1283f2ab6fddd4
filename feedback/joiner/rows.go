package joiner

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/zeebo/xxh3"

	db "github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/table"
)

//go:embed queries/stored.sql
var storedSQL string

// written is what is known of the row of a request that was written last.
type written struct {
	content uint64 // hash of the row but for its version
	at      int64  // its started_at
	version uint64
	when    time.Time
}

// storedRow is a place where a request has rows.
type storedRow struct {
	at      int64
	version uint64
	gone    bool
}

// writeRows stores the rows of requests of one tenant that differ from what was written last. now is the database's clock
// before the records were read, µs.
func (w *worker) writeRows(ctx context.Context, reqs []*requests.Request, now int64) error {
	rows := make([]requests.Row, len(reqs))
	var unknown []int
	for i, r := range reqs {
		rows[i] = r.Row()
		if !w.written.Contains(name{rows[i].Tenant, rows[i].RequestID}) {
			unknown = append(unknown, i)
		}
	}
	places, err := w.places(ctx, reqs, rows, unknown)
	if err != nil {
		return err
	}
	batch := requests.Table.NewBatch()
	fresh := map[name]written{}
	var content []byte
	for i := range rows {
		row := &rows[i]
		n := name{row.Tenant, row.RequestID}
		content = requests.Table.AppendContent(content[:0], row)
		state := written{content: xxh3.Hash(content), at: int64(row.StartedAt), version: uint64(now), when: time.Now()} //nolint:gosec // after 1970
		old := places[row.RequestID]
		if last, ok := w.written.Get(n); ok {
			if last.content == state.content {
				continue
			}
			old = []storedRow{{at: last.at, version: last.version}}
		}
		for _, o := range old {
			state.version = max(state.version, o.version+1) // the database's clock may have been set back
		}
		row.Version = state.version
		batch.Append(row)
		for _, o := range old {
			if o.at != state.at && !o.gone {
				batch.Append(&requests.Row{
					Tenant: row.Tenant, RequestID: row.RequestID, StartedAt: table.Micros(o.at), Version: state.version, Gone: true,
				})
			}
		}
		fresh[n] = state
	}
	if batch.Len() == 0 {
		return nil
	}
	err = w.insert.Insert(ctx, db.Block{SQL: batch.InsertSQL(), Input: batch.Input()})
	for n, state := range fresh {
		if err != nil {
			w.written.Remove(n) // it may or may not be written
			continue
		}
		w.written.Add(n, state)
	}
	if err == nil {
		w.tel.wroteRows(batch.Len())
	}
	return err
}

// slack is how far apart the clocks of a request's tiers may be.
const slack = int64(24 * time.Hour / time.Microsecond)

// places looks up where requests have rows of which nothing is remembered.
func (w *worker) places(ctx context.Context, reqs []*requests.Request, rows []requests.Row, which []int) (map[string][]storedRow, error) {
	if len(which) == 0 {
		return nil, nil
	}
	ids := make([]string, len(which))
	since, until := int64(rows[which[0]].StartedAt), int64(0)
	for k, i := range which {
		ids[k] = rows[i].RequestID
		first, last := reqs[i].Span()
		since, until = min(since, first), max(until, last)
	}
	out := map[string][]storedRow{}
	err := w.query(ctx, "stored", storedSQL, func(rs driver.Rows) error {
		var id string
		var s storedRow
		if err := rs.Scan(&id, &s.at, &s.version, &s.gone); err != nil {
			return err
		}
		out[id] = append(out[id], s)
		return nil
	}, clickhouse.Named("tenant", rows[which[0]].Tenant), clickhouse.Named("ids", ids),
		clickhouse.Named("since", max(0, since-slack)), clickhouse.Named("until", until+slack))
	return out, err
}
