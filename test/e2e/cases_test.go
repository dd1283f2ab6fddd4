package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

var update = flag.Bool("update", false, "write the table of cases into docs/detection.md")

// played is a case that was posted to the real endpoints, as it is read back. Each case has a tenant of its own.
type played struct {
	*corpus.Case
	up     *up
	pages  *public
	tenant string
	base   int64 // instant of the case's time 0
}

// request reads GET /v1/requests/{id}.
func (p *played) request(t require.TestingT, id string) *requests.Request {
	code, b := p.get(t, "/v1/requests/"+id+"?tenant="+p.tenant)
	require.Equal(t, http.StatusOK, code, "%s", b)
	var r requests.Request
	require.NoError(t, json.Unmarshal(b, &r))
	return &r
}

func (p *played) get(t require.TestingT, path string) (int, []byte) {
	resp, err := http.Get(url(p.up.API, path))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var b json.RawMessage
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&b))
	return resp.StatusCode, b
}

// found reads GET /v1/findings: of one request, in the order in which they began; of the whole case where id is empty.
func (p *played) found(t require.TestingT, id string) []findings.Finding {
	q := "/v1/findings?limit=1000&tenant=" + p.tenant
	if id != "" {
		q += "&request_id=" + id
	}
	code, b := p.get(t, q)
	require.Equal(t, http.StatusOK, code, "%s", b)
	var page findings.Page
	require.NoError(t, json.Unmarshal(b, &page))
	slices.Reverse(page.Findings)
	return page.Findings
}

// post sends the records as real senders do: engines and gateways their own, pages as beacons to the public endpoint.
func post(t *testing.T, u *up, pages *public, rec corpus.Records, tenant string) {
	send := func(path, contentType string, body []byte) {
		code, answer := u.post(t, path, contentType, body)
		require.Equal(t, http.StatusOK, code, "%s: %s", path, answer)
	}
	var relays []wire.Stream
	var nd []byte
	for i := range rec.Streams {
		s := &rec.Streams[i]
		s.Tenant = tenant
		if s.Tier == wire.TierGateway {
			relays = append(relays, *s)
			continue
		}
		nd = append(wire.AppendStreamJSON(nd, s), '\n')
	}
	if len(nd) > 0 {
		send("/v1/chunks", "application/x-ndjson", nd)
	}
	for i := range rec.Gateways {
		g := &rec.Gateways[i]
		g.Tenant = tenant
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(wire.AppendGatewayJSON(nil, g), &m))
		for k := range relays {
			if relays[k].RequestID == g.RequestID {
				var s map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(wire.AppendStreamJSON(nil, &relays[k]), &s))
				m["chunks"] = s["chunks"]
			}
		}
		b, err := json.Marshal(m)
		require.NoError(t, err)
		send("/v1/gateway", "application/json", b)
	}
	for i := range rec.Clients {
		c := &rec.Clients[i]
		c.Tenant = tenant
		pages.beacon(t, tenant, wire.AppendClientJSON(nil, c))
	}
}

// answer collects what is right and wrong about a case.
type answer struct {
	t     require.TestingT
	p     *played
	saw   []string // what Fermata says, for the table
	wrong []string
}

func (a *answer) say(format string, args ...any) { a.saw = append(a.saw, fmt.Sprintf(format, args...)) }

func (a *answer) check(ok bool, format string, args ...any) {
	if !ok {
		a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	}
}

// want is one finding that must be there; zero fields are not looked at.
type want struct {
	kind, grade, tier, channel, cause string
	chunk                             int64 // -1: none
	startMS, durMS, within            float64
	open                              bool
	evidence                          map[string]any // numbers within 1 %, names as they are
}

// exactly checks that a request has these findings and no other, in the order in which they began. slow_start, which some
// cases have by their times alone, must be named too.
func (a *answer) exactly(id string, wants ...want) []findings.Finding {
	got := a.p.found(a.t, id)
	var kinds, wanted []string
	for _, f := range got {
		kinds = append(kinds, f.Kind)
	}
	for _, w := range wants {
		wanted = append(wanted, w.kind)
	}
	slices.Sort(kinds)
	slices.Sort(wanted)
	if !slices.Equal(kinds, wanted) {
		a.check(false, "%s: found %v, want %v", id, kinds, wanted)
		return got
	}
	used := map[string]bool{}
	for _, w := range wants {
		best := ""
		for i := range got {
			f := &got[i]
			if f.Kind != w.kind || used[f.ID] {
				continue
			}
			if problem := w.differs(f); problem == "" {
				used[f.ID], best = true, ""
				a.say("%s", describe(f))
				break
			} else if best = problem; len(wants) == 1 {
				break
			}
		}
		a.check(best == "", "%s: %s %s", id, w.kind, best)
	}
	// The request tells the same.
	a.check(len(a.p.request(a.t, id).Findings) == len(got), "%s: GET /v1/requests has other findings", id)
	return got
}

func (w *want) differs(f *findings.Finding) string {
	tol := w.within
	if tol == 0 {
		tol = 2
	}
	near := func(name string, wantMS float64, us int64) string {
		if wantMS != 0 && math.Abs(wantMS-float64(us)/1000) > tol {
			return fmt.Sprintf("%s is %.1f ms, want %.1f", name, float64(us)/1000, wantMS)
		}
		return ""
	}
	if s := near("start", w.startMS, f.StartUS); s != "" {
		return s
	}
	if s := near("duration", w.durMS, f.DurationUS); s != "" {
		return s
	}
	grade := ""
	if f.Grade != nil {
		grade = *f.Grade
	}
	for _, c := range []struct{ name, want, got string }{
		{"grade", w.grade, grade}, {"tier", w.tier, f.Tier}, {"channel", w.channel, f.Channel}, {"attribution", w.cause, f.Attribution},
	} {
		if c.want != "" && c.want != c.got {
			return fmt.Sprintf("%s is %q, want %q", c.name, c.got, c.want)
		}
	}
	switch {
	case w.chunk > 0 && (f.Chunk == nil || *f.Chunk != w.chunk):
		return fmt.Sprintf("chunk is %v, want %d", val(f.Chunk), w.chunk)
	case w.open != f.Open:
		return fmt.Sprintf("open is %v", f.Open)
	}
	var ev map[string]any
	if err := json.Unmarshal(f.Evidence, &ev); err != nil {
		return err.Error()
	}
	for k, v := range w.evidence {
		n, isNumber := ev[k].(float64)
		switch x := v.(type) {
		case int:
			if !isNumber || math.Abs(n-float64(x)) > math.Abs(float64(x))/100 {
				return fmt.Sprintf("evidence %s is %v, want %d", k, ev[k], x)
			}
		default:
			if fmt.Sprint(ev[k]) != fmt.Sprint(x) {
				return fmt.Sprintf("evidence %s is %v, want %v", k, ev[k], x)
			}
		}
	}
	return ""
}

func val[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// describe writes a finding for the table.
func describe(f *findings.Finding) string {
	what := f.Kind
	if f.Grade != nil && *f.Grade != f.Kind {
		what += " (" + *f.Grade + ")"
	}
	var ev map[string]any
	_ = json.Unmarshal(f.Evidence, &ev)
	if f.Chunk != nil && *f.Chunk > 0 {
		what += fmt.Sprintf(" at chunk %d", *f.Chunk)
	}
	if f.DurationUS > 0 {
		what += fmt.Sprintf(", %.2f s", float64(f.DurationUS)/1e6)
		if f.Open {
			what += " and on"
		}
	}
	switch f.Kind {
	case "loop":
		what += fmt.Sprintf(", %v repeats of %v characters, %v", ev["repeats"], ev["period_chars"], ev["match"])
	case "buffering":
		what += fmt.Sprintf(", driven by %v, releases of %v chunks", ev["driver"], ev["chunks_per_release"])
	case "idle_drop":
		what += fmt.Sprintf(", limit %.0f s, pings %v upstream and %v at the page", ev["limit_us"].(float64)/1e6, ev["pings_upstream"], ev["pings_received"])
	case "cancel_waste":
		what += fmt.Sprintf(", %v of %v tokens after it", ev["waste_tokens"], ev["tokens"])
	case "clock_conflict", "id_conflict":
		what += fmt.Sprintf(", %v", ev["rule"])
	}
	return what + " [" + f.Tier + ": " + f.Attribution + "]"
}

// server returns the served attempt's server tier.
func (a *answer) server(id string) *requests.Stream {
	r := a.p.request(a.t, id)
	for i := range r.Attempts {
		if r.Attempts[i].Served && r.Attempts[i].Server != nil {
			return r.Attempts[i].Server
		}
	}
	a.check(false, "%s has no server tier", id)
	return &requests.Stream{}
}

// us checks a value in µs within 1 ms.
func (a *answer) us(name string, got *int64, wantMS float64) {
	if got == nil {
		a.check(false, "%s is not known, want %.0f ms", name, wantMS)
		return
	}
	a.say("%s %.0f ms", name, float64(*got)/1000)
	a.check(math.Abs(float64(*got)/1000-wantMS) <= 1, "%s is %.1f ms, want %.1f", name, float64(*got)/1000, wantMS)
}

func TestCases(t *testing.T) {
	u := running(t)
	list, err := corpus.LoadCases("../../processors/testdata/cases.jsonl")
	require.NoError(t, err)
	require.Len(t, list, 58)
	base := time.Now().Add(-10 * time.Minute).Truncate(time.Second).UnixMicro()
	tag := fmt.Sprintf("%x", time.Now().UnixNano())
	var all []*played
	var tenants []string
	for i := range list {
		p := &played{Case: &list[i], up: u, tenant: "case-" + list[i].ID + "-" + tag, base: base}
		all, tenants = append(all, p), append(tenants, p.tenant)
	}
	pages := startPublic(t, u, tenants)
	for _, p := range all {
		p.pages = pages
		post(t, u, pages, p.Play("", base), p.tenant)
	}
	var table strings.Builder
	table.WriteString("| case | right answer | Fermata says | |\n|---|---|---|---|\n")
	right := 0
	for _, p := range all {
		check, ok := rightAnswers[p.ID]
		require.True(t, ok, "no right answer is written down for %s", p.ID)
		var a *answer
		ask := func() *answer {
			a := &answer{p: p, t: collect{}}
			func() {
				defer func() {
					if v := recover(); v != nil {
						a.wrong = append(a.wrong, fmt.Sprint(v))
					}
				}()
				check.ask(a)
			}()
			return a
		}
		// The last record may still be on its way, and what several requests show together follows them.
		late := time.After(2 * time.Minute)
		again := time.NewTicker(100 * time.Millisecond)
	asking:
		for a = ask(); len(a.wrong) > 0; a = ask() {
			select {
			case <-late:
				break asking
			case <-again.C:
			}
		}
		again.Stop()
		t.Run(p.ID, func(t *testing.T) { require.Empty(t, a.wrong, "%s", check.text) })
		mark := "✗"
		if len(a.wrong) == 0 {
			mark = "✓"
			right++
		}
		says := strings.Join(slices.Compact(a.saw), "; ")
		if says == "" {
			says = "nothing found"
		}
		fmt.Fprintf(&table, "| %s %s | %s | %s | %s |\n", p.ID, p.Title, check.text, strings.ReplaceAll(says, "|", "\\|"), mark)
	}
	fmt.Fprintf(&table, "\n%d of %d right.\n", right, len(all))
	t.Logf("%d of %d right", right, len(all))
	if *update {
		require.NoError(t, writeTable("../../docs/detection.md", table.String()))
	}
}

// collect stops a check that can't go on, so that it can be asked again.
type collect struct{}

func (collect) Errorf(format string, args ...any) {
	panic(strings.TrimSpace(fmt.Sprintf(format, args...)))
}
func (collect) FailNow() { panic("failed") }

// writeTable replaces what stands between the marks of a document.
func writeTable(path, table string) error {
	const from, until = "<!-- cases: written by go test ./test/e2e -run TestCases -update -->\n", "<!-- end of cases -->"
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, until)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for the table of cases", path)
	}
	return os.WriteFile(path, []byte(head+from+table+until+tail), 0o644)
}
