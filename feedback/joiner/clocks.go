package joiner

import (
	"context"

	db "github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/requests"
)

// writeClocks stores what requests of one tenant say of their pages' clocks, where that is new, and has those other
// requests of the sessions joined again in which it may show a contradiction.
func (w *worker) writeClocks(ctx context.Context, tenant string, reqs []*requests.Request) error {
	batch := clocks.Table.NewBatch()
	joined := map[string]bool{}
	for _, r := range reqs {
		joined[r.RequestID] = true
	}
	var again []string
	for _, r := range reqs {
		rows := r.ClockRows()
		for i := range rows {
			batch.Append(&rows[i])
		}
		if len(rows) == 0 {
			continue
		}
		for _, id := range r.ClockNeighbours() {
			if !joined[id] {
				again = append(again, id)
			}
		}
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := w.insert.Insert(ctx, db.Block{SQL: batch.InsertSQL(), Input: batch.Input()}); err != nil {
		return err
	}
	for _, id := range again {
		w.again(name{tenant, id})
	}
	return nil
}
