// Package texture tells whether the streams of two versions, hours or cohorts of one target feel different: in
// pace, burstiness, pauses before and after tool calls, preamble, tokens per chunk, length, or how often they
// loop or stall. It compares distributions, since means may agree while streams do not.
//
// Each stream becomes a [Profile], one number per quality. For each quality the two samples are compared by
//
//   - the Mann–Whitney U test with tie correction: is one group larger? (H. B. Mann, D. R. Whitney, "On a Test
//     of Whether one of Two Random Variables is Stochastically Larger than the Other", 1947);
//   - Cliff's δ = 2U/(mn) − 1, its effect size, from −1 to 1 (N. Cliff, 1993);
//   - the Hodges–Lehmann shift of logarithms, told as a ratio, with a distribution-free 95 % interval
//     (J. L. Hodges, E. L. Lehmann, 1963; the interval after D. F. Bauer, 1972);
//   - the Jensen–Shannon divergence of the two histograms over half octaves, in bits from 0 to 1 (J. Lin, 1991),
//     with a permutation test: are the shapes different?
//
// Rates (looping streams of all) are compared by Fisher's exact test.
//
// A shift is told when a test says so at Alpha divided by the number of qualities tested (Bonferroni) and the
// effect is large enough to be felt. Groups below MinStreams give no answer, which is not the same as none.
package texture
