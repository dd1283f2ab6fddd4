package joiner

import (
	"context"

	db "github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/requests"
)

// writeClocks stores what requests of one tenant say of their pages' clocks, where that is new, and has those other
// requests of the sessions joined again in which it may show a contradiction. They count as not joined since the records that
// showed it arrived, so that these are read again when this process ends before.
func (w *worker) writeClocks(ctx context.Context, tenant string, reqs []*requests.Request) error {
	batch := clocks.Table.NewBatch()
	joined := map[string]bool{}
	for _, r := range reqs {
		joined[r.RequestID] = true
		rows := r.ClockRows()
		for i := range rows {
			batch.Append(&rows[i])
		}
		if len(rows) > 0 {
			w.memory.get(name{tenant, r.RequestID}).newClocks = true // also where the insert fails, and may have worked
		}
	}
	if batch.Len() > 0 {
		if err := w.insert.Insert(ctx, db.Block{SQL: batch.InsertSQL(), Input: batch.Input()}); err != nil {
			return err
		}
	}
	for _, r := range reqs {
		h := w.memory.get(name{tenant, r.RequestID})
		if !h.newClocks {
			continue
		}
		for _, id := range r.ClockNeighbours() {
			if !joined[id] {
				w.again(name{tenant, id}, h.since)
			}
		}
		h.newClocks = false
	}
	return nil
}
