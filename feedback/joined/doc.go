// Package joined gives the findings of one joined request: those stored for its streams, their attribution seen from all
// tiers, and those that only the tiers together show (processors/crosstier). It does no I/O.
package joined
