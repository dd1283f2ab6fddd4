package table

import (
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
)

// Batch gathers rows column by column. It is not for concurrent use; a Batch may be used again after Reset.
type Batch[R any] struct {
	t    *Table[R]
	bufs []buffer
	pack *packer
	rows int
}

// NewBatch makes an empty batch.
func (t *Table[R]) NewBatch() *Batch[R] {
	b := &Batch[R]{t: t, bufs: make([]buffer, len(t.cols)), pack: t.pack.packer()}
	for i, c := range t.cols {
		b.bufs[i] = c.make()
	}
	return b
}

// Append copies one row into the batch; the row's slices may be used again afterwards.
func (b *Batch[R]) Append(row *R) {
	// Offsets instead of reflection: this runs for each of some seventy columns of each row.
	p := unsafe.Pointer(row) //nolint:gosec // offsets are those of R, see Of
	for i := range b.bufs {
		b.bufs[i].add(unsafe.Add(p, b.t.cols[i].offset))
	}
	b.pack.add(p)
	b.rows++
}

// Len returns the number of rows.
func (b *Batch[R]) Len() int { return b.rows }

// Reset empties the batch and keeps its memory.
func (b *Batch[R]) Reset() {
	for i := range b.bufs {
		b.bufs[i].col.Reset()
	}
	for _, c := range b.pack.buffers() {
		c.Reset()
	}
	b.rows = 0
}

// Table returns the table's name, without a database.
func (b *Batch[R]) Table() string { return b.t.name }

// InsertSQL is the body of the query that Input belongs to.
func (b *Batch[R]) InsertSQL() string { return b.t.InsertSQL() }

// Input returns the columns for ch.Query.Input. It stays valid until the next Append or Reset.
func (b *Batch[R]) Input() proto.Input {
	in := make(proto.Input, 0, len(b.bufs)+4)
	for i, c := range b.t.cols {
		in = append(in, proto.InputColumn{Name: c.name, Data: b.bufs[i].col})
	}
	packed := b.pack.buffers()
	for i, c := range b.t.pack.columns() {
		in = append(in, proto.InputColumn{Name: c.Name, Data: packed[i]})
	}
	return in
}
