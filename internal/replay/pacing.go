package replay

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/zeebo/xxh3"
)

// Pacing is the stated model that gives chunk times to recordings without any. The first chunk comes after
// TTFTBase + TTFTPer1K × prompt tokens ÷ 1000, each later one ITL after the one before; each of these spans is
// multiplied with a lognormal factor of mean 1 and shape Jitter. Every chunk carries one token.
type Pacing struct {
	TTFTBase  time.Duration // default 200 ms
	TTFTPer1K time.Duration // default 40 ms per 1000 prompt tokens
	ITL       time.Duration // default 25 ms
	Jitter    float64       // σ of the factor's logarithm, 0 to 3; default 0.3
	Seed      uint64        // default 1
}

// NewDefaultPacing returns the documented defaults.
func NewDefaultPacing() Pacing {
	return Pacing{TTFTBase: 200 * time.Millisecond, TTFTPer1K: 40 * time.Millisecond, ITL: 25 * time.Millisecond, Jitter: 0.3, Seed: 1}
}

// Validate names every setting that is out of range.
func (p Pacing) Validate() error {
	var errs []error
	for _, d := range []struct {
		name string
		v    time.Duration
		most time.Duration
	}{{"ttft-base-ms", p.TTFTBase, time.Hour}, {"ttft-per-1k-prompt-ms", p.TTFTPer1K, time.Minute}, {"itl-ms", p.ITL, 10 * time.Minute}} {
		if d.v < 0 || d.v > d.most {
			errs = append(errs, fmt.Errorf("--%s is %s; want 0 to %s", d.name, d.v, d.most))
		}
	}
	if !(p.Jitter >= 0 && p.Jitter <= 3) {
		errs = append(errs, fmt.Errorf("--jitter is %g; want 0 to 3", p.Jitter))
	}
	return errors.Join(errs...)
}

// String states the model, for notes and for ids.
func (p Pacing) String() string {
	return fmt.Sprintf("TTFT %s + %s per 1000 prompt tokens, then %s a token, lognormal jitter σ %g, seed %d",
		p.TTFTBase, p.TTFTPer1K, p.ITL, p.Jitter, p.Seed)
}

// times returns n offsets in µs. The same pacing and key give the same times.
func (p Pacing) times(key string, n int, promptTokens int64) []int64 {
	if n <= 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(p.Seed, xxh3.HashString(key))) //nolint:gosec // repeatable on purpose
	span := func(d float64) int64 {
		if p.Jitter > 0 {
			d *= math.Exp(p.Jitter*r.NormFloat64() - p.Jitter*p.Jitter/2)
		}
		return int64(math.Round(d))
	}
	out := make([]int64, n)
	at := span(float64(p.TTFTBase.Microseconds()) + float64(p.TTFTPer1K.Microseconds())*float64(promptTokens)/1000)
	for i := range out {
		if i > 0 {
			at += span(float64(p.ITL.Microseconds()))
		}
		out[i] = at
	}
	return out
}
