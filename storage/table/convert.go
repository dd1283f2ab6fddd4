package table

import "github.com/fermata-io/fermata/internal/wire"

// Count converts a count that Validate bounded to 32 bits.
func Count(o wire.Opt[int64]) Opt[uint32] {
	return Opt[uint32]{V: uint32(o.V), OK: o.OK} //nolint:gosec // bounded by Validate
}

// Offset converts an offset or duration that Validate found not negative.
func Offset(o wire.Opt[int64]) Opt[uint64] {
	return Opt[uint64]{V: uint64(o.V), OK: o.OK} //nolint:gosec // bounded by Validate
}

// Int converts back.
func Int[T uint32 | uint64 | int64](o Opt[T]) wire.Opt[int64] {
	return wire.Opt[int64]{V: int64(o.V), OK: o.OK}
}

// List returns nil for an empty list, which is the form records have.
func List[T any](v []T) []T {
	if len(v) == 0 {
		return nil
	}
	return v
}

// PackOffsets splits ascending offsets into the first and the differences that follow, appended to gaps.
func PackOffsets(gaps []uint32, t []int64) (first uint64, _ []uint32) {
	if len(t) == 0 {
		return 0, gaps
	}
	prev := t[0]
	for _, v := range t[1:] {
		gaps = append(gaps, uint32(v-prev)) //nolint:gosec // Validate bounds a gap to 32 bits
		prev = v
	}
	return uint64(t[0]), gaps //nolint:gosec // never negative
}

// UnpackOffsets reverses PackOffsets for n offsets; n of 0 has none.
func UnpackOffsets(n int, first uint64, gaps []uint32) []int64 {
	if n == 0 {
		return nil
	}
	t := make([]int64, 1, len(gaps)+1)
	t[0] = int64(first) //nolint:gosec // was an int64
	for i, g := range gaps {
		t = append(t, t[i]+int64(g))
	}
	return t
}

// PackKinds appends runs of kinds, length*16 + kind; all content needs none.
func PackKinds(runs []uint32, kinds []wire.Kind) []uint32 {
	start := len(runs)
	for i := 0; i < len(kinds); {
		j := i + 1
		for j < len(kinds) && kinds[j] == kinds[i] {
			j++
		}
		runs = append(runs, uint32(j-i)<<4|uint32(kinds[i])) //nolint:gosec // a count of chunks
		i = j
	}
	if len(runs) == start+1 && runs[start]&15 == uint32(wire.KindContent) {
		runs = runs[:start]
	}
	return runs
}

// UnpackKinds reverses PackKinds for n chunks; it returns nil when all are content.
func UnpackKinds(n int, runs []uint32) []wire.Kind {
	if len(runs) == 0 {
		return nil
	}
	kinds := make([]wire.Kind, 0, n)
	for _, r := range runs {
		for range r >> 4 {
			kinds = append(kinds, wire.Kind(r&15))
		}
	}
	return kinds
}
