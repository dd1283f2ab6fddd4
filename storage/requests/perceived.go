package requests

// perceived compares two durations, each measured on one clock.
func perceived(c *mergedClient, server *merged) Perceived {
	p := Perceived{Parts: []GapPart{}}
	if c == nil || !c.Submit.OK || !c.FirstPaint.OK || c.FirstPaint.V < c.Submit.V {
		return p
	}
	p.TTFTUS = known(c.FirstPaint.V - c.Submit.V)
	if server != nil {
		p.GapUS = minus(p.TTFTUS, server.ttft)
	}
	return p
}
