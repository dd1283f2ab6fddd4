package joiner

import "github.com/zeebo/xxh3"

// filter tells which names have surely not been seen since some second. It holds two Bloom filters: when the young one is
// full, it takes the place of the old one, and what only the old one knew is forgotten.
type filter struct {
	young, old []uint64
	added      int
	// since is the second of arrival from which on every name is in one of the two; begun that of the young one.
	since, begun int64
}

// Sizes of one Bloom filter: 16 MiB, 4 bits of which are set for each of at most 10 million names: less than 0.5 % of the
// names that were not seen pass.
const (
	filterBits = 1 << 27
	filterMost = 10_000_000
)

func newFilter(from int64) *filter {
	return &filter{young: make([]uint64, filterBits/64), since: from, begun: from}
}

func filterHash(kind byte, n name) (uint64, uint64) {
	h := xxh3.HashString128(string(kind) + n.tenant + "\x00" + n.id)
	return h.Lo, h.Hi | 1
}

// add remembers a name that arrived in a second.
func (f *filter) add(kind byte, n name, second int64) {
	if f.added >= filterMost {
		f.old, f.young, f.added = f.young, make([]uint64, filterBits/64), 0
		f.since, f.begun = f.begun, second
	}
	h, step := filterHash(kind, n)
	fresh := false
	for range 4 {
		bit := h % filterBits
		if f.young[bit/64]&(1<<(bit%64)) == 0 {
			f.young[bit/64] |= 1 << (bit % 64)
			fresh = true
		}
		h += step
	}
	if fresh {
		f.added++
	}
}

// has reports whether the name may have been added.
func (f *filter) has(kind byte, n name) bool {
	return hasAll(f.young, kind, n) || f.old != nil && hasAll(f.old, kind, n)
}

func hasAll(bits []uint64, kind byte, n name) bool {
	h, step := filterHash(kind, n)
	for range 4 {
		bit := h % filterBits
		if bits[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
		h += step
	}
	return true
}
