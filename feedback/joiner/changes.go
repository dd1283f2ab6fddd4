package joiner

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

var (
	//go:embed queries/changed.sql
	changedSQL string
	//go:embed queries/stalls.sql
	stallsSQL string
	//go:embed queries/new_stalls.sql
	newStallsSQL string
)

// name is a request.
type name struct{ tenant, id string }

// arrivals counts the rows of a request that were looked at, by table and second of arrival.
type arrivals struct{ rows map[arrival]uint64 }

type arrival struct {
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

func (w *worker) databaseTime(ctx context.Context) (int64, error) {
	var now time.Time
	if err := w.conn.QueryRow(settings(ctx, "now"), "SELECT now()").Scan(&now); err != nil {
		return 0, fmt.Errorf("now: %w", err)
	}
	return now.Unix(), nil
}

// changes lists the requests that got rows since the last look and that more than one record can tell something of. all is
// false when there were more than one look takes.
func (w *worker) changes(ctx context.Context) (changed []name, all bool, err error) {
	fresh := map[name][]arrival{}
	counts := map[name]map[arrival]uint64{}
	err = w.query(ctx, "changed", changedSQL, func(rows driver.Rows) error {
		var n name
		var table string
		var second time.Time
		var rowsThen uint64
		if err := rows.Scan(&n.tenant, &n.id, &table, &second, &rowsThen); err != nil {
			return err
		}
		a := arrival{table, second.Unix()}
		fresh[n] = append(fresh[n], a)
		if counts[n] == nil {
			counts[n] = map[arrival]uint64{}
		}
		counts[n][a] = rowsThen
		return nil
	}, clickhouse.Named("from", w.from), clickhouse.Named("late", int64(w.cfg.Late.Seconds())), clickhouse.Named("limit", 10*w.cfg.MaxRequests))
	if err != nil {
		return nil, false, err
	}
	all = true
	for n, c := range counts {
		old := w.seen[n]
		if old != nil && !slices.ContainsFunc(fresh[n], func(a arrival) bool { return c[a] > old.rows[a] }) {
			continue
		}
		changed = append(changed, n)
	}
	slices.SortFunc(changed, func(a, b name) int { return strings.Compare(a.tenant+"\x00"+a.id, b.tenant+"\x00"+b.id) })
	if len(changed) > w.cfg.MaxRequests {
		changed, all = changed[:w.cfg.MaxRequests], false
	}
	for _, n := range changed {
		if w.seen[n] == nil {
			w.seen[n] = &arrivals{rows: map[arrival]uint64{}}
		}
		maps.Copy(w.seen[n].rows, counts[n])
	}
	return changed, all, nil
}

// forget drops what is older than what the next look sees.
func (w *worker) forget() {
	for n, a := range w.seen {
		maps.DeleteFunc(a.rows, func(k arrival, _ uint64) bool { return k.second < w.from })
		if len(a.rows) == 0 {
			delete(w.seen, n)
		}
	}
}

// batches cuts requests, ordered by tenant, into lists of one tenant each.
func batches(all []name, most int) [][]name {
	var out [][]name
	for len(all) > 0 {
		n := 1
		for n < len(all) && n < most && all[n].tenant == all[0].tenant {
			n++
		}
		out = append(out, all[:n])
		all = all[n:]
	}
	return out
}
