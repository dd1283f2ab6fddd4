package streamprocessor

// chunkTimes remembers when content-bearing chunks came, in bounded memory: exact for the first 256 chunks of a
// stream, then of every second, every fourth, … chunk. It lets a loop that is seen late tell when it began.
type chunkTimes struct {
	at     []uint32 // in units
	stride int64    // chunks between two entries
}

const (
	maxTimes   = 256
	timeUnitUS = 50 // 24 h fit in 32 bits
)

func (c *chunkTimes) add(chunk, us int64) {
	if c.stride == 0 {
		c.stride = 1
	}
	if chunk%c.stride != 0 {
		return
	}
	if len(c.at) == maxTimes {
		for i := range maxTimes / 2 {
			c.at[i] = c.at[2*i]
		}
		c.at = c.at[:maxTimes/2]
		c.stride *= 2
		if chunk%c.stride != 0 {
			return
		}
	}
	for int64(len(c.at)) < chunk/c.stride && len(c.at) < maxTimes-1 {
		c.at = append(c.at, uint32(us/timeUnitUS)) //nolint:gosec // chunks before text came are not remembered
	}
	c.at = append(c.at, uint32(us/timeUnitUS)) //nolint:gosec // offsets are at most 24 h
}

// of returns the offset of a chunk, or of the last remembered one before it.
func (c *chunkTimes) of(chunk int64) int64 {
	if len(c.at) == 0 {
		return 0
	}
	i := min(chunk/c.stride, int64(len(c.at)-1))
	return int64(c.at[i]) * timeUnitUS
}
