package joiner

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/fermata-io/fermata/storage/arrivals"
)

// newClock makes the clock of what is joined.
func newClock(w *worker, servers int) *arrivals.Clock {
	return arrivals.New(w.conn, arrivals.Options{
		Tables: []string{"streams", "gateways", "clients", "findings"}, Lag: w.cfg.Lag, Servers: servers,
		Warn: func(text string) { w.warn(text) },
	})
}

// follow keeps what is remembered of the database's clock true to it: where it was set back, rows are stamped with seconds that
// were joined already.
func (w *worker) follow() {
	if back := w.clock.Resume(w.from); back < w.from {
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
	err := w.conn.Exec(ctx, "INSERT INTO joiner_progress (name, handled) SETTINGS insert_deduplicate = 0 VALUES ('requests', {handled:Int64})", clickhouse.Named("handled", handled))
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
