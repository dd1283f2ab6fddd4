package joiner

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

var (
	//go:embed queries/changed.sql
	changedSQL string
	//go:embed queries/seconds.sql
	secondsSQL string
	//go:embed queries/stalls.sql
	stallsSQL string
	//go:embed queries/new_stalls.sql
	newStallsSQL string
)

// name is a request.
type name struct{ tenant, id string }

// arrival is a second in which rows of a request came into a table.
type arrival struct {
	name
	table  string
	second int64
}

func settings(ctx context.Context, query string) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"max_execution_time": 30, "max_memory_usage": int64(1 << 30), "log_comment": "joiner." + query, "readonly": 2,
	}))
}

// query runs a query and calls scan for each row.
func (w *worker) query(ctx context.Context, what, sql string, scan func(driver.Rows) error, args ...any) error {
	rows, err := w.conn.Query(settings(ctx, what), sql, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// span is some seconds of arrivals, or one of several parts of them by id.
type span struct {
	from, until   int64 // seconds since the Unix epoch; until is not in it
	shard, shards uint32
}

// forever is after every arrival that a DateTime can tell.
const forever = math.MaxUint32

// maxSeconds bounds how many seconds with arrivals are looked at in one go.
const maxSeconds = 50_000

// spans cuts what arrived since the last look into pieces of about MaxRequests rows. The last one is open: what arrives
// while the first ones are joined is in it.
func (w *worker) spans(ctx context.Context) ([]span, error) {
	out := []span{}
	cur, rows, seconds := span{from: w.from, shards: 1}, 0, 0
	most := w.cfg.MaxRequests
	err := w.query(ctx, "seconds", secondsSQL, func(rs driver.Rows) error {
		var second int64
		var n uint64
		if err := rs.Scan(&second, &n); err != nil {
			return err
		}
		seconds++
		if rows > 0 && rows+int(n) > most { //nolint:gosec // a count
			cur.until = second
			out = append(out, cur)
			cur, rows = span{from: second, shards: 1}, 0
		}
		rows += int(n)   //nolint:gosec // a count
		if rows > most { // one second alone
			cur.until, cur.shards = second+1, uint32(rows/most+1) //nolint:gosec // a count
			for cur.shard = range cur.shards {
				out = append(out, cur)
			}
			cur, rows = span{from: second + 1, shards: 1}, 0
		}
		return nil
	}, clickhouse.Named("from", w.from), clickhouse.Named("limit", uint32(maxSeconds)))
	if err != nil {
		return nil, err
	}
	if seconds < maxSeconds {
		cur.until = forever
		return append(out, cur), nil
	}
	return out, nil // the rest at the next look
}

// changes notes the requests that got rows in a span. Rows that an earlier look has seen don't count.
func (w *worker) changes(ctx context.Context, s span) error {
	now := time.Now()
	return w.query(ctx, "changed", changedSQL, func(rows driver.Rows) error {
		var a arrival
		var sum uint64
		var running bool
		if err := rows.Scan(&a.tenant, &a.id, &a.table, &a.second, &sum, &running); err != nil {
			return err
		}
		if was, ok := w.seen[a]; !ok || was != sum {
			w.seen[a] = sum
			w.note(a.name, a.second, running, now)
		}
		return nil
	}, clickhouse.Named("from", s.from), clickhouse.Named("until", s.until), clickhouse.Named("shard", s.shard), clickhouse.Named("shards", s.shards))
}

// forget drops what is older than what the next look sees.
func (w *worker) forget() {
	maps.DeleteFunc(w.seen, func(a arrival, _ uint64) bool { return a.second < w.from })
}
