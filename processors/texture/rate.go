package texture

import "math"

// Rate is the comparison of a share: looping streams of all, for instance.
type Rate struct {
	Before, After             float64 // shares
	AfterLow, AfterHigh       float64 // 95 % interval of After (Wilson)
	P                         float64 // Fisher's exact test, two-sided
	Shifted                   bool
	HitsBefore, StreamsBefore int
	HitsAfter, StreamsAfter   int
}

// CompareRates compares hits of streams before and after. A single hit after none is told with its numbers, and
// is no shift: too few for a rate.
func CompareRates(alpha float64, hitsBefore, before, hitsAfter, after int) Rate {
	r := Rate{HitsBefore: hitsBefore, StreamsBefore: before, HitsAfter: hitsAfter, StreamsAfter: after, P: 1}
	if before <= 0 || after <= 0 {
		return r
	}
	r.Before, r.After = float64(hitsBefore)/float64(before), float64(hitsAfter)/float64(after)
	r.AfterLow, r.AfterHigh = wilson(hitsAfter, after)
	r.P = fisher(hitsBefore, before, hitsAfter, after)
	r.Shifted = r.P <= alpha
	return r
}

// wilson is E. B. Wilson's score interval at 95 % (1927).
func wilson(k, n int) (low, high float64) {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, mid-half), min(1, mid+half)
}

// fisher is R. A. Fisher's exact test: the chance of all tables as rare as this one, or rarer.
func fisher(a, n, c, m int) float64 {
	k := a + c
	at := func(x int) float64 { return logChoose(n, x) + logChoose(m, k-x) - logChoose(n+m, k) }
	here, p := at(a), 0.0
	for x := max(0, k-m); x <= min(n, k); x++ {
		if l := at(x); l <= here+1e-9 {
			p += math.Exp(l)
		}
	}
	return min(1, p)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
