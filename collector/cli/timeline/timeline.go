package timeline

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/fermata-io/fermata/storage/requests"
)

// maxAliases is how many aliases are shown.
const maxAliases = 6

// Render draws the request.
func Render(w io.Writer, r *requests.Request, o Options) error {
	p := newPainter(o)
	header(p, r)
	l := arrange(r)
	if len(l.rows) > 0 {
		p.nl()
		a := l.bounds(p.width - labelWidth)
		a.draw(p)
		for i := range l.rows {
			l.rows[i].draw(p, a)
		}
		l.legend(p)
		p.nl()
		l.table(p)
	}
	p.nl()
	details(p, r, l)
	_, err := io.WriteString(w, strings.TrimRight(p.String(), "\n")+"\n")
	return err
}

func stateMark(p *painter, s requests.State) (rune, style) {
	switch s {
	case requests.StateCompleted:
		return p.done, good
	case requests.StateFailed:
		return p.failed, alert
	case requests.StateAborted:
		return p.cut, warn
	}
	return p.going, info
}

// header says what request this is and how it ended.
func header(p *painter, r *requests.Request) {
	mark, s := stateMark(p, r.State)
	state := string(r.State)
	if s := served(r); s != nil {
		for _, x := range []struct{ name, v string }{{"", str(s.FinishReason)}, {"", str(s.StopReason)}, {"error ", str(s.Error)}} {
			if x.v != "" && x.v != string(r.State) {
				state += ", " + x.name + x.v
			}
		}
		if s.Status != nil && *s.Status >= 400 {
			state += ", HTTP " + strconv.Itoa(int(*s.Status))
		}
	}
	p.put(s, string(mark)+" ")
	id := p.clip(clean(r.RequestID), p.width-4)
	p.put(bold, id)
	if 2+uniseg.StringWidth(id)+2+uniseg.StringWidth(state) > p.width {
		p.nl()
	}
	p.WriteString("  ")
	p.put(s, p.clip(state, p.width-2))
	p.nl()

	var parts []string
	add := func(name, v string) {
		if v != "" {
			parts = append(parts, name+v)
		}
	}
	if t := targetText(r.Target); t != "" {
		parts = append(parts, t)
	} else {
		parts = append(parts, "target not known")
	}
	add("type ", clean(r.QueryType))
	add("app ", str(r.App))
	add("route ", str(r.Route))
	add("region ", str(r.Region))
	if r.Tenant != "default" {
		add("tenant ", clean(r.Tenant))
	}
	if at, ok := startedAt(r); ok {
		add("", time.UnixMicro(at).UTC().Format("2006-01-02 15:04:05.000")+" UTC")
	}
	p.WriteString("  ")
	p.wrap(2, p.dot, parts)
	if n := len(r.Aliases); n > 0 {
		var shown []string
		for _, a := range r.Aliases[:min(n, maxAliases)] {
			shown = append(shown, clean(a))
		}
		if n > maxAliases {
			shown = append(shown, fmt.Sprintf("and %d more", n-maxAliases))
		}
		p.put(dim, "  also ")
		p.wrap(7, " ", shown)
	}
}

func targetText(t requests.Target) string {
	var parts []string
	for _, s := range []*string{t.Provider, t.Deployment, t.Model} {
		if v := str(s); v != "" {
			parts = append(parts, v)
		}
	}
	out := strings.Join(parts, " / ")
	if v := str(t.ModelVersion); v != "" && out != "" {
		out += " (" + v + ")"
	}
	return out
}

func served(r *requests.Request) *requests.Stream {
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Server != nil && (a.Served || r.ServedAttempt == nil || *r.ServedAttempt == a.Attempt) {
			return a.Server
		}
	}
	return nil
}

func startedAt(r *requests.Request) (int64, bool) {
	if s := served(r); s != nil {
		return s.StartedAt, true
	}
	for i := range r.Attempts {
		if s := r.Attempts[i].Server; s != nil {
			return s.StartedAt, true
		}
	}
	switch {
	case r.Gateway != nil:
		return r.Gateway.StartedAt, true
	case r.Client != nil && r.Client.StartedAt != nil:
		return *r.Client.StartedAt, true
	}
	return 0, false
}

// details writes what the drawing can't show.
func details(p *painter, r *requests.Request, l *layout) {
	line := func(label string, parts ...string) {
		if len(parts) == 0 {
			return
		}
		p.put(dim, pad(label, labelWidth, false))
		p.wrap(labelWidth, p.dot, parts)
	}
	for i := range l.rows {
		if t := l.rows[i].table; t != nil && t.note != "" {
			line("", "numbers of "+strings.TrimSpace(clean(l.rows[i].label))+" follow "+t.note+"'s definitions")
		}
	}
	line("felt", felt(p, r)...)
	line("client", pageEnd(p, r.Client)...)
	line("gap", gapParts(p, r)...)
	line("clock", clock(p, "client", r.Clock)...)
	if r.Gateway != nil {
		line("gateway", gatewayText(p, r.Gateway)...)
		line("", clock(p, "gateway", r.Gateway.Clock)...)
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		name := "server"
		if len(r.Attempts) > 1 {
			name = fmt.Sprintf("server #%d", a.Attempt)
		}
		line(name, attemptText(p, a, len(r.Attempts) > 1)...)
	}
	label := "stalls"
	for i := range l.rows {
		rw := &l.rows[i]
		var parts []string
		for _, g := range rw.big() {
			parts = append(parts, rw.stall(p, g))
		}
		if len(parts) > 0 {
			parts[0] = strings.TrimSpace(clean(rw.label)) + ": " + parts[0]
			line(label, parts...)
			label = ""
		}
	}
	for _, c := range r.Conflicts {
		p.put(warn, pad("conflict", labelWidth, false))
		p.wrap(labelWidth, p.dot, []string{clean(c.Kind), clean(c.Tier), clean(c.Detail)})
	}
	for _, f := range r.Findings {
		if parts := finding(p, f); len(parts) > 0 {
			p.put(alert, pad("finding", labelWidth, false))
			p.wrap(labelWidth, p.dot, parts)
		}
	}
	for _, n := range l.notes {
		line("note", n)
	}
}

func gatewayText(p *painter, g *requests.Gateway) []string {
	var parts []string
	if e := str(g.Emitter); e != "" {
		parts = append(parts, e)
	}
	for _, x := range []struct {
		name string
		us   *int64
	}{
		{"queue", g.Phases.QueueWaitUS},
		{"cache look-up", g.Phases.CacheLookupUS},
		{"route decision", g.Phases.RouteDecisionUS},
		{"upstream", g.Phases.UpstreamUS},
		{"overhead", g.Phases.OverheadUS},
	} {
		if x.us != nil {
			parts = append(parts, x.name+" "+p.span(*x.us))
		}
	}
	if v := str(g.CacheResult); v != "" {
		parts = append(parts, "cache "+v)
	}
	if d := g.RouteDecision; d != nil && str(d.Chosen) != "" {
		t := "chose " + str(d.Chosen)
		if why := strings.Trim(str(d.Policy)+": "+str(d.Reason), ": "); why != "" {
			t += " (" + why + ")"
		}
		parts = append(parts, t)
	}
	for _, x := range []struct {
		name string
		n    *int64
	}{{"retries", g.Retries}, {"fallbacks", g.Fallbacks}, {"in flight", g.InFlight}, {"queue depth", g.QueueDepth}} {
		if x.n != nil && *x.n > 0 {
			parts = append(parts, x.name+" "+strconv.FormatInt(*x.n, 10))
		}
	}
	if g.CancelledUS != nil {
		t := "client left at " + p.span(*g.CancelledUS)
		if g.UpstreamClosedUS != nil && *g.UpstreamClosedUS > *g.CancelledUS {
			t += ", upstream closed " + p.span(*g.UpstreamClosedUS-*g.CancelledUS) + " later"
		}
		parts = append(parts, t)
	}
	if e := str(g.Error); e != "" {
		parts = append(parts, "error "+e)
	}
	return parts
}

// pageEnd tells of a page that was closed or reloaded before its answer had ended.
func pageEnd(p *painter, c *requests.Client) []string {
	if c == nil || c.State != requests.StateAborted || c.ClosedUS == nil || c.AbortedUS != nil {
		return nil
	}
	return []string{"page closed at " + p.span(*c.ClosedUS) + ", while the answer came"}
}

func attemptText(p *painter, a *requests.Attempt, several bool) []string {
	var parts []string
	if several {
		t := string(a.State)
		if a.Served {
			t = "served, " + t
		}
		parts = append(parts, t)
		if v := targetText(a.Target); v != "" {
			parts = append(parts, v)
		}
	}
	if g := a.Gateway; g != nil && g.Status != nil && *g.Status >= 400 {
		parts = append(parts, "HTTP "+strconv.Itoa(int(*g.Status)))
	}
	s := a.Server
	if s == nil {
		return parts
	}
	if v := str(s.Emitter); v != "" {
		parts = append(parts, "seen by "+v)
	}
	if several && str(s.Error) != "" {
		parts = append(parts, "error "+str(s.Error))
	}
	for _, x := range []struct {
		name string
		us   *int64
	}{{"queue", s.Phases.QueueUS}, {"prefill", s.Phases.PrefillUS}, {"decode", s.Phases.DecodeUS}} {
		if x.us != nil {
			parts = append(parts, x.name+" "+p.span(*x.us))
		}
	}
	if s.PromptTokens != nil {
		t := strconv.FormatInt(*s.PromptTokens, 10) + " prompt tokens"
		if s.CachedTokens != nil && *s.CachedTokens > 0 {
			t += " (" + strconv.FormatInt(*s.CachedTokens, 10) + " cached)"
		}
		parts = append(parts, t)
	}
	if s.Reasoning != nil && *s.Reasoning > 0 {
		parts = append(parts, strconv.FormatInt(*s.Reasoning, 10)+" reasoning tokens")
	}
	if v := str(s.Engine.CacheHit); v != "" {
		parts = append(parts, "prefix cache "+v)
	}
	if s.Engine.BatchSize != nil {
		parts = append(parts, "batch "+strconv.FormatInt(*s.Engine.BatchSize, 10))
	}
	if s.P50GapUS != nil && s.P99GapUS != nil {
		parts = append(parts, "gaps p50 "+p.span(*s.P50GapUS)+" p99 "+p.span(*s.P99GapUS))
	}
	if s.StartUnknown {
		parts = append(parts, "start not known: the timeline begins at the first chunk")
	}
	if s.Synthetic {
		parts = append(parts, "chunk times are synthetic")
	}
	parts = append(parts, reported(p, s.Reported)...)
	return parts
}

// reported shows numbers that an emitter computed, under the name of their definition.
func reported(p *painter, rep *requests.Reported) []string {
	if rep == nil {
		return nil
	}
	var v []string
	for _, x := range []struct {
		name string
		us   *int64
	}{{"TTFT", rep.TTFTUS}, {"TTFA", rep.TTFAUS}, {"ITL", rep.ITLMeanUS}, {"TPOT", rep.TPOTUS}, {"E2E", rep.E2EUS}} {
		if x.us != nil {
			v = append(v, x.name+" "+p.span(*x.us))
		}
	}
	if len(v) == 0 {
		return nil
	}
	return []string{clean(rep.Definition) + " says " + strings.Join(v, ", ")}
}
