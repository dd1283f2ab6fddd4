package streams

import (
	"sync"

	"github.com/zeebo/xxh3"
)

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// A version is, from the highest bit: final, the number of chunks, a hash.
const (
	hashBits  = 16
	chunkBits = 24
)

// rank orders the deliveries of one identity by their content alone: a final record beats one that is not,
// then more chunks beat fewer, then a hash of every other column decides. Equal records have equal ranks. The hash is short,
// as its bits are noise that every row carries: of two deliveries that differ and are as long, one in 65 000 pairs is a tie.
func rank(row *Row) uint64 {
	buf := scratch.Get().(*[]byte)
	*buf = Table.AppendContent((*buf)[:0], row)
	v := uint64(min(row.NChunks, 1<<chunkBits-1))<<hashBits | xxh3.Hash(*buf)>>(64-hashBits)
	scratch.Put(buf)
	if row.Final {
		v |= 1 << (hashBits + chunkBits)
	}
	return v
}

// ranked gives back what a version holds of its record.
func ranked(version uint64) (final bool, chunks int) {
	return version>>(hashBits+chunkBits) != 0, int(version >> hashBits & (1<<chunkBits - 1))
}
