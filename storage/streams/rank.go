package streams

import (
	"sync"

	"github.com/zeebo/xxh3"
)

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// rank orders the deliveries of one identity by their content alone: a final record beats one that is not,
// then more chunks beat fewer, then 24 bits of a hash of every other column decide. Equal records have equal
// ranks. It fills 49 bits.
func rank(row *Row) uint64 {
	buf := scratch.Get().(*[]byte)
	*buf = Table.AppendContent((*buf)[:0], row)
	v := uint64(min(row.NChunks, 1<<24-1))<<24 | xxh3.Hash(*buf)>>40
	scratch.Put(buf)
	if row.Final {
		v |= 1 << 48
	}
	return v
}
