package joiner

import (
	"context"
	"maps"

	db "github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// output is what joins have to be stored, all of it in one insert for each table: an insert costs the database about the same
// whether it has ten rows or a thousand, and so do the merges that follow. No tenant has more than one join in it.
type output struct {
	joined   []*held
	clocks   clockRows
	findings []findings.Row
	rows     []requests.Row
	fresh    map[*held]written // what is known of rows once they are stored
}

// clockRows are what requests say of their pages' clocks, and which others of their sessions that concerns.
type clockRows struct {
	rows       []clocks.Row
	fresh      requests.FreshClocks
	neighbours []neighbour
}

// neighbour is a request to join again since some records of another arrived in a second.
type neighbour struct {
	name
	since int64
}

// add takes over what a join of another tenant put out.
func (o *output) add(p *output) {
	o.joined = append(o.joined, p.joined...)
	o.clocks.rows = append(o.clocks.rows, p.clocks.rows...)
	o.clocks.neighbours = append(o.clocks.neighbours, p.clocks.neighbours...)
	o.findings = append(o.findings, p.findings...)
	o.rows = append(o.rows, p.rows...)
	if o.fresh == nil {
		o.fresh = map[*held]written{}
	}
	maps.Copy(o.fresh, p.fresh)
}

// flush stores what was put out. Only then are the requests joined; after an error all of them are joined again.
func (w *worker) flush(ctx context.Context, o output) (err error) {
	defer func() {
		if err != nil {
			for h := range o.fresh {
				h.row, h.rowKnown = written{}, false // it may or may not be written
			}
		}
	}()
	if len(o.clocks.rows) > 0 {
		b := clocks.Table.NewBatch()
		for i := range o.clocks.rows {
			b.Append(&o.clocks.rows[i])
		}
		if err := w.insert.Insert(ctx, db.Block{SQL: b.InsertSQL(), Input: b.Input()}); err != nil {
			return err
		}
	}
	if err := w.write(ctx, o.findings); err != nil {
		return err
	}
	if len(o.rows) > 0 {
		b := requests.Table.NewBatch()
		for i := range o.rows {
			b.Append(&o.rows[i])
		}
		if err := w.insert.Insert(ctx, db.Block{SQL: b.InsertSQL(), Input: b.Input()}); err != nil {
			return err
		}
	}
	for h, state := range o.fresh {
		h.row, h.rowKnown = state, true
	}
	for _, h := range o.joined {
		h.pending, h.newClocks = false, false
		delete(w.memory.pending, h.name)
		if h.told {
			w.memory.forget(h) // hardly anything comes for it any more: the room is for those that wait for their pages
		}
	}
	for _, n := range o.clocks.neighbours {
		w.again(n.name, n.since)
	}
	w.tel.wroteRows(len(o.rows))
	w.tel.joinedSome(len(o.joined))
	w.memory.trim()
	return nil
}
