package joiner

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	db "github.com/fermata-io/fermata/storage/clickhouse"
)

//go:embed queries/clock.sql
var clockSQL string

// accessDenied is ClickHouse's code for a user who may not read a table.
const accessDenied = 497

// moment is what the database's clock says.
type moment struct {
	us   int64 // now, µs since the Unix epoch
	safe int64 // rows stamped before this second are visible, whoever inserts them
	due  int64 // the second up to which rows would be safe if no insert ran
}

// otherLag is how long inserts are given of which the database does not tell: longer than the exporter gives them itself.
const otherLag = 65 * time.Second

// moment reads the clock. A row is stamped when its insert begins and is visible when that ends, so nothing since the start
// of the longest insert that runs is safe; lag is for inserts that other servers of a cluster run.
func (w *worker) moment(ctx context.Context) (moment, error) {
	var m moment
	var longest float64
	lag := w.lagOf()
	if !w.blind {
		err := w.conn.QueryRow(settings(ctx, "clock"), clockSQL).Scan(&m.us, &longest)
		if code, ok := db.Code(err); ok && code == accessDenied {
			w.blind = true
			w.warn("the database user may not read system.processes: joined requests come a minute late; grant it SELECT on that table")
		} else if err != nil {
			return m, fmt.Errorf("clock: %w", err)
		}
	}
	if w.blind {
		lag = max(lag, otherLag)
		if err := w.conn.QueryRow(settings(ctx, "clock"), "SELECT toUnixTimestamp64Micro(now64(6))").Scan(&m.us); err != nil {
			return m, fmt.Errorf("clock: %w", err)
		}
	}
	m.safe = (m.us - int64(longest*1e6) - lag.Microseconds()) / 1_000_000
	m.due = (m.us - lag.Microseconds()) / 1_000_000
	return m, nil
}

// lagOf is the configured lag, or where there are several servers and none is configured, enough for the inserts of the others
// and for clocks that differ a little.
func (w *worker) lagOf() time.Duration {
	if w.cfg.Lag == 0 && w.servers > 1 {
		return otherLag
	}
	return w.cfg.Lag
}

// unknownStep is how far is looked back when the database's clock turns out to have been set back while nobody looked.
const unknownStep = 3600

// follow keeps what is remembered of the database's clock true to it: where it was set back, rows are stamped with seconds that
// were joined already, so these are looked at once more. prev is what it said at the look before, ago how long that is.
func (w *worker) follow(m moment, prev int64, ago time.Duration) {
	back := w.from
	switch {
	case prev > 0 && w.now < prev:
		back = m.safe - int64(ago.Seconds()) - 1
	case w.from > w.now:
		back = m.safe - unknownStep
	}
	if back < w.from {
		w.warn("the database's clock was set back; what arrived since is looked at once more")
		w.from, w.saved, w.eventsFrom = back, min(w.saved, back), min(w.eventsFrom, back)
	}
}

// loadProgress returns the second up to which everything was joined before this start; 0 when nothing was.
func (w *worker) loadProgress(ctx context.Context) (int64, error) {
	var handled int64
	err := w.conn.QueryRow(settings(ctx, "progress"),
		"SELECT argMax(handled, saved_at) FROM joiner_progress WHERE name = 'requests'").Scan(&handled)
	if err != nil {
		return 0, fmt.Errorf("progress: %w", err)
	}
	return handled, nil
}

// saveProgress stores up to which second everything is joined, when that has changed since.
func (w *worker) saveProgress(ctx context.Context) error {
	handled := w.handled()
	if handled <= w.saved {
		return nil
	}
	err := w.conn.Exec(ctx, "INSERT INTO joiner_progress (name, handled) VALUES ('requests', {handled:Int64})", clickhouse.Named("handled", handled))
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	w.saved = handled
	return nil
}

// handled is the second before which everything is joined and written.
func (w *worker) handled() int64 {
	h := min(w.from, w.eventsFrom)
	for _, p := range w.memory.pending {
		h = min(h, p.since)
	}
	return h
}
