package stall

import "math/bits"

// log2 of a positive duration in µs, in 1/256 octave, by linear interpolation between powers of two
// (error below 0.09 octave). 0 and below count as 1 µs.
func log2q(us int64) int32 {
	if us < 1 {
		us = 1
	}
	n := bits.Len64(uint64(us)) - 1
	return int32(n)<<8 | int32((uint64(us)<<8>>uint(n))&0xff) //nolint:gosec // below 64
}

// exp2q is the inverse of log2q.
func exp2q(q int32) int64 {
	if q < 0 {
		return 1
	}
	n := uint(q >> 8)
	if n > 54 {
		n = 54
	}
	return (int64(256|q&0xff) << n) >> 8
}

const (
	bucketBits = 2 // quarter octaves
	buckets    = 32 << bucketBits
	bucketQ    = 256 >> bucketBits // width of a bucket in 1/256 octave
	fineStep   = 4                 // 1.1 %
)

// histogram keeps a running median in constant memory: counts by quarter octave of the duration, and the
// bucket of the lower median with the count below it.
type histogram struct {
	count [buckets]uint16
	n     uint32
	below uint32 // in buckets under med
	fine  int32  // estimate within the median's bucket, moved a little towards each value
	med   uint8
}

func bucketOf(q int32) uint8 {
	b := q / bucketQ
	if b >= buckets {
		b = buckets - 1
	}
	return uint8(b)
}

func (h *histogram) add(q int32, memory int) {
	b := bucketOf(q)
	if int(h.n) >= memory || h.count[b] == 1<<16-1 {
		h.halve()
	}
	h.count[b]++
	h.below += negative(int32(b) - int32(h.med))
	h.n++
	h.settle()
	// A value falls above or below the median by chance, which no processor foresees: no branches.
	h.fine += fineStep * ((q-h.fine)>>31 - (h.fine-q)>>31)
	h.fine = min(max(h.fine, int32(h.med)*bucketQ), int32(h.med+1)*bucketQ-1)
}

// negative is 1 for a negative number, else 0.
func negative(v int32) uint32 { return uint32(v) >> 31 } //nolint:gosec // the sign bit

// settle moves the median's bucket until it holds the value of rank (n−1)/2.
func (h *histogram) settle() {
	k := (h.n - 1) / 2
	for h.below > k {
		h.med--
		h.below -= uint32(h.count[h.med])
	}
	for h.below+uint32(h.count[h.med]) <= k {
		h.below += uint32(h.count[h.med])
		h.med++
	}
}

func (h *histogram) halve() {
	h.n, h.below = 0, 0
	for i := range h.count {
		h.count[i] -= h.count[i] / 2
		h.n += uint32(h.count[i])
		if i < int(h.med) {
			h.below += uint32(h.count[i])
		}
	}
	if h.n > 0 {
		h.settle()
	}
}

// medianQ is the running lower median in 1/256 octave: exact in its bucket, and within the bucket an
// estimate by stochastic approximation. It is 0 while nothing was added.
func (h *histogram) medianQ() int32 { return h.fine }

func (h *histogram) reset() { *h = histogram{} }
