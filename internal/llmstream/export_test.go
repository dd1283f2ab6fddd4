package llmstream

// WithoutMould makes the parser take every frame apart.
func (p *Parser) WithoutMould() *Parser {
	p.mould.never, p.mould.off = true, true
	return p
}
