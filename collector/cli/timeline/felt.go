package timeline

import (
	"fmt"
	"strings"

	"github.com/fermata-io/fermata/storage/requests"
)

// felt compares what the user saw with what the server measured.
func felt(p *painter, r *requests.Request) []string {
	if r.Perceived.TTFTUS == nil {
		return nil
	}
	parts := []string{"first meaningful paint " + p.span(*r.Perceived.TTFTUS) + " after submit"}
	if r.Client != nil && r.Client.PaintSource != nil {
		parts[0] += " (" + str(r.Client.PaintSource) + ")"
	}
	switch g := r.Perceived.GapUS; {
	case g == nil:
	case *g < 0:
		parts = append(parts, p.span(-*g)+" less than the server's TTFT")
	default:
		parts = append(parts, p.span(*g)+" more than the server's TTFT")
	}
	return parts
}

// gapParts lists what the time between the server's TTFT and the user's is made of.
func gapParts(p *painter, r *requests.Request) []string {
	var out []string
	const least = 50 // µs
	for _, g := range r.Perceived.Parts {
		if g.US < least && g.US > -least && g.UncertaintyUS == 0 {
			continue
		}
		t := strings.ReplaceAll(clean(g.Part), "_", " ") + " " + p.span(g.US)
		if g.UncertaintyUS > 0 {
			t += p.plusMinus(g.UncertaintyUS)
		}
		out = append(out, t)
	}
	return out
}

// clock says how far a process's clock is ahead of the server's, and what that rests on.
func clock(p *painter, who string, c *requests.Clock) []string {
	if c == nil {
		return nil
	}
	sign := "+"
	if c.OffsetUS < 0 {
		sign = ""
	}
	parts := []string{who + " = server " + sign + p.span(c.OffsetUS) + p.plusMinus(c.UncertaintyUS)}
	if c.Source == requests.ClockSession {
		parts = append(parts, fmt.Sprintf("by %d requests of the session", c.Requests))
	} else {
		parts = append(parts, clean(c.Source))
	}
	if c.RoundTripUS != nil {
		parts = append(parts, "best round trip "+p.span(*c.RoundTripUS))
	}
	if c.DriftPPM != nil && c.DriftUncertaintyPPM != nil {
		parts = append(parts, fmt.Sprintf("drifts by %+.1f %s %.1f ppm", *c.DriftPPM, p.pm, *c.DriftUncertaintyPPM))
	}
	return parts
}
