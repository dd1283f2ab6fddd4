package repetition

import "math/bits"

const (
	chunkWindow = 3072 // characters whose chunk is known exactly
	jumpsKept   = 8
)

// places maps characters of one channel to chunks of the stream: a bit for each character that begins a
// chunk, and the places where the numbering jumps because another channel's chunks lie between.
type places struct {
	local int64 // chunks of this channel so far, less 1
	last  int64 // number of the last one in the stream
	jumps [jumpsKept]jump
	nJump uint32
	begin [chunkWindow / 64]uint64
}

type jump struct{ local, global int32 }

// chunk notes that the character at place n begins chunk number global.
func (p *places) chunk(n uint32, global int64) {
	if p.nJump > 0 && global == p.last {
		return
	}
	if p.nJump == 0 || global != p.last+1 {
		if p.nJump > 0 {
			p.local++
		}
		p.jumps[p.nJump%jumpsKept] = jump{int32(p.local), int32(global)} //nolint:gosec // chunk numbers are small
		p.nJump++
	} else {
		p.local++
	}
	p.last = global
	p.begin[n/64%(chunkWindow/64)] |= 1 << (n % 64)
}

// advance clears the marks of places that n characters up to place to reuse.
func (p *places) advance(from, to uint32) {
	a, b := from/64, to/64
	if b-a > chunkWindow/64 {
		a = b - chunkWindow/64
	}
	for a < b {
		a++
		p.begin[a%(chunkWindow/64)] = 0
	}
}

// at returns the chunk that character n lies in, where now characters have been read.
func (p *places) at(n, now uint32) int64 {
	local := p.local
	if now-n >= chunkWindow-64 {
		// beyond the marks: as if chunks had one size
		local = int64(float64(p.local) * float64(n) / float64(max(now, 1)))
	} else {
		local -= int64(p.count(n+1, now))
	}
	k := p.nJump
	for k > 0 && p.nJump-k < jumpsKept {
		if j := p.jumps[(k-1)%jumpsKept]; int64(j.local) <= local {
			return int64(j.global) + local - int64(j.local)
		}
		k--
	}
	if p.nJump == 0 {
		return 0
	}
	j := p.jumps[k%jumpsKept] // the oldest one kept
	return max(0, int64(j.global)-int64(j.local)+local)
}

// count returns how many chunks begin in [a, b).
func (p *places) count(a, b uint32) int {
	n := 0
	for a < b {
		w := p.begin[a/64%(chunkWindow/64)] >> (a % 64)
		step := min(64-a%64, b-a)
		if step < 64 {
			w &= 1<<step - 1
		}
		n += bits.OnesCount64(w)
		a += step
	}
	return n
}

// mix is one round of a multiplicative hash (splitmix64's finaliser).
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0xbf58476d1ce4e5b9
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return h ^ h>>29
}
