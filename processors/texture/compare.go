package texture

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// Config holds the thresholds. The zero value is not usable; start from NewDefaultConfig.
type Config struct {
	Alpha       float64 // error rate of a whole comparison; default 0.01
	MinStreams  int     // of each group; default 8
	MinEffect   float64 // |Cliff's δ| that is felt; default 0.33
	MinJSD      float64 // bits of Jensen–Shannon divergence that are felt; default 0.12
	MaxStreams  int     // of each group used, chosen evenly; default 1000
	Permutation int     // rounds of the permutation test; default 2000
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config {
	return Config{Alpha: 0.01, MinStreams: 8, MinEffect: 0.33, MinJSD: 0.12, MaxStreams: 1000, Permutation: 2000}
}

// Validate reports every value out of its range.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, key, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("texture.%s: must be %s", key, want))
		}
	}
	bad(c.Alpha > 0 && c.Alpha < 1, "alpha", "between 0 and 1")
	bad(c.MinStreams >= 4, "min_streams", "at least 4")
	bad(c.MinEffect >= 0 && c.MinEffect <= 1, "min_effect", "from 0 to 1")
	bad(c.MinJSD >= 0 && c.MinJSD <= 1, "min_jsd", "from 0 to 1")
	bad(c.MaxStreams >= c.MinStreams && c.MaxStreams <= 5000, "max_streams", "from min_streams to 5000")
	bad(c.Permutation >= 200 && c.Permutation <= 20_000, "permutation", "from 200 to 20000")
	return errors.Join(errs...)
}

// Shift is the comparison of one quality.
type Shift struct {
	Quality Quality
	// Known is false when a group is too small: nothing is said then, neither shift nor none.
	Known        bool
	Shifted      bool
	Before       int // streams used
	After        int
	MedianBefore float64
	MedianAfter  float64
	// Ratio is after ÷ before by the Hodges–Lehmann estimate, RatioLow to RatioHigh its 95 % interval. NaN
	// where values are not all positive.
	Ratio, RatioLow, RatioHigh float64
	Delta                      float64 // Cliff's δ: positive when after is larger
	PLarger                    float64 // two-sided, Mann–Whitney
	JSD                        float64 // bits
	PShape                     float64 // permutation test of the divergence
	Confidence                 float64 // 1 − the smaller p, times the qualities tested
}

// Compare tests every quality of two groups of streams. The same input gives the same answer.
func Compare(cfg Config, before, after []Profile) []Shift {
	qualities := Qualities()
	type pair struct{ a, b []float64 }
	var tested int
	pairs := make([]pair, len(qualities))
	for i, q := range qualities {
		pairs[i] = pair{values(before, q, cfg.MaxStreams), values(after, q, cfg.MaxStreams)}
		if len(pairs[i].a) >= cfg.MinStreams && len(pairs[i].b) >= cfg.MinStreams {
			tested++
		}
	}
	out := make([]Shift, len(qualities))
	for i, q := range qualities {
		out[i] = compare(cfg, q, pairs[i].a, pairs[i].b, tested)
	}
	return out
}

func values(ps []Profile, q Quality, most int) []float64 {
	var out []float64
	for _, p := range ps {
		if v, ok := p[q]; ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	if len(out) <= most {
		return out
	}
	even := make([]float64, most)
	for i := range even {
		even[i] = out[i*len(out)/most]
	}
	return even
}

func compare(cfg Config, q Quality, a, b []float64, tested int) Shift {
	s := Shift{Quality: q, Before: len(a), After: len(b), Ratio: math.NaN(), RatioLow: math.NaN(), RatioHigh: math.NaN()}
	if len(a) < cfg.MinStreams || len(b) < cfg.MinStreams {
		return s
	}
	s.Known = true
	s.MedianBefore, s.MedianAfter = median(a), median(b)
	s.PLarger, s.Delta = mannWhitney(a, b)
	s.Ratio, s.RatioLow, s.RatioHigh = hodgesLehmann(a, b)
	s.JSD, s.PShape = shape(a, b, cfg.Permutation)
	limit := cfg.Alpha / float64(2*tested) // two tests each
	larger := s.PLarger <= limit && math.Abs(s.Delta) >= cfg.MinEffect
	other := s.PShape <= max(limit, 1.5/float64(cfg.Permutation)) && s.JSD >= cfg.MinJSD
	s.Shifted = larger || other
	p := min(s.PLarger, s.PShape) * float64(2*tested)
	s.Confidence = math.Round(1000*max(0, 1-p)) / 1000
	return s
}

func median(v []float64) float64 {
	w := append([]float64(nil), v...)
	sort.Float64s(w)
	n := len(w)
	return (w[(n-1)/2] + w[n/2]) / 2
}

// mannWhitney returns the two-sided p by the normal approximation with tie and continuity correction, and
// Cliff's δ of b over a.
func mannWhitney(a, b []float64) (p, delta float64) {
	type item struct {
		v    float64
		from int
	}
	all := make([]item, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, item{v, 0})
	}
	for _, v := range b {
		all = append(all, item{v, 1})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].v < all[j].v })
	m, n := float64(len(a)), float64(len(b))
	var ranks, ties float64
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		rank := float64(i+j+1) / 2
		for ; i < j; i++ {
			if all[i].from == 1 {
				ranks += rank
			}
		}
	}
	u := ranks - n*(n+1)/2
	delta = 2*u/(m*n) - 1
	total := m + n
	v := m * n / 12 * (total + 1 - ties/(total*(total-1)))
	if v <= 0 {
		return 1, delta
	}
	z := max(0, math.Abs(u-m*n/2)-0.5) / math.Sqrt(v)
	return math.Erfc(z / math.Sqrt2), delta
}

// hodgesLehmann is the median of all ratios of pairs, with its distribution-free 95 % interval.
func hodgesLehmann(a, b []float64) (ratio, low, high float64) {
	a, b = thin(a, 300), thin(b, 300)
	for _, v := range [][]float64{a, b} {
		for _, x := range v {
			if x <= 0 {
				return math.NaN(), math.NaN(), math.NaN()
			}
		}
	}
	d := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			d = append(d, math.Log(y/x))
		}
	}
	sort.Float64s(d)
	m, n := float64(len(a)), float64(len(b))
	k := int(m*n/2 - 1.96*math.Sqrt(m*n*(m+n+1)/12))
	k = max(0, min(k, len(d)-1))
	return math.Exp((d[(len(d)-1)/2] + d[len(d)/2]) / 2), math.Exp(d[k]), math.Exp(d[len(d)-1-k])
}

func thin(v []float64, most int) []float64 {
	if len(v) <= most {
		return v
	}
	out := make([]float64, most)
	for i := range out {
		out[i] = v[i*len(v)/most]
	}
	return out
}

// shape returns the Jensen–Shannon divergence of the histograms over half octaves, and how often a random
// split of the pooled streams diverges as much.
func shape(a, b []float64, rounds int) (jsd, p float64) {
	bins := make([]int, 0, len(a)+len(b))
	for _, v := range a {
		bins = append(bins, bin(v))
	}
	for _, v := range b {
		bins = append(bins, bin(v))
	}
	lo, hi := bins[0], bins[0]
	for _, k := range bins {
		lo, hi = min(lo, k), max(hi, k)
	}
	for i := range bins {
		bins[i] -= lo
	}
	ca, cb := make([]int, hi-lo+1), make([]int, hi-lo+1)
	jsd = divergence(bins, len(a), ca, cb)
	r := rand.New(rand.NewPCG(1, uint64(len(bins)))) //nolint:gosec // a fixed shuffle, no secret
	more := 0
	for range rounds {
		r.Shuffle(len(bins), func(i, j int) { bins[i], bins[j] = bins[j], bins[i] })
		if divergence(bins, len(a), ca, cb) >= jsd-1e-12 {
			more++
		}
	}
	return jsd, float64(more+1) / float64(rounds+1)
}

func bin(v float64) int {
	if v <= 0 {
		return -100
	}
	return int(math.Floor(2 * math.Log2(v)))
}

func divergence(bins []int, m int, ca, cb []int) float64 {
	clear(ca)
	clear(cb)
	for i, k := range bins {
		if i < m {
			ca[k]++
		} else {
			cb[k]++
		}
	}
	var d float64
	na, nb := float64(m), float64(len(bins)-m)
	for k := range ca {
		p, q := float64(ca[k])/na, float64(cb[k])/nb
		mid := (p + q) / 2
		if p > 0 {
			d += p * math.Log2(p/mid) / 2
		}
		if q > 0 {
			d += q * math.Log2(q/mid) / 2
		}
	}
	return d
}
