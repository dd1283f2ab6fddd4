package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// judge checks a case against its label.
func judge(a *answer, label *corpus.CaseLabel) {
	ids := map[string]bool{}
	for i := range a.p.Streams {
		if id := a.p.Streams[i].Request; id != "" {
			ids[id] = true
		}
	}
	found := map[string][]findings.Finding{}
	for _, f := range a.p.found(a.t, "") {
		found[f.RequestID] = append(found[f.RequestID], f)
	}
	known := a.requests()
	for id := range ids {
		got := found[id]
		for i := range got {
			a.say("%s", describe(&got[i]))
		}
		a.check(known[id], "%s is not listed", id)
		rest := slices.Clone(got)
		for _, w := range label.Want[id] {
			rest = a.take(id, rest, func(f *findings.Finding) string { return differs(&w, f) }, w.Kind)
		}
		for _, kinds := range label.Any {
			rest = a.take(id, rest, func(f *findings.Finding) string {
				if slices.Contains(kinds, f.Kind) {
					return ""
				}
				return "is another kind"
			}, strings.Join(kinds, " or "))
		}
		for i := range rest {
			if !slices.Contains(label.May, rest[i].Kind) {
				a.check(false, "%s: also found %s", id, describe(&rest[i]))
			}
		}
		if label.Check[id] != nil {
			a.facts(id, label.Check[id])
		}
	}
	if label.Shift != nil {
		n := 0
		for _, f := range found[""] {
			if f.Kind == "texture_shift" {
				n++
				a.say("%s %s", f.Kind, f.Evidence)
			}
		}
		a.check((n > 0) == (len(*label.Shift) > 0), "%d texture shifts", n)
	}
	for _, id := range label.Event {
		for _, f := range found[id] {
			if f.Kind != "stall" {
				continue
			}
			var ev struct{ Event struct{ Requests []string } }
			_ = json.Unmarshal(f.Evidence, &ev)
			slices.Sort(ev.Event.Requests)
			a.check(slices.Equal(ev.Event.Requests, label.Event), "%s: event of %v", id, ev.Event.Requests)
		}
	}
}

// requests are those that the list shows.
func (a *answer) requests() map[string]bool {
	code, b := a.p.get(a.t, "/v1/requests?since=24h&limit=1000&tenant="+a.p.tenant)
	var page requests.Page
	a.check(code == http.StatusOK && json.Unmarshal(b, &page) == nil, "list answers %d", code)
	ids := map[string]bool{}
	for i := range page.Requests {
		ids[page.Requests[i].RequestID] = true
	}
	return ids
}

// take removes the finding that is asked for from what was found.
func (a *answer) take(id string, from []findings.Finding, differs func(*findings.Finding) string, name string) []findings.Finding {
	why := "is not there"
	for i := range from {
		problem := differs(&from[i])
		if problem == "" {
			return slices.Delete(from, i, i+1)
		}
		if from[i].Kind == name {
			why = problem
		}
	}
	a.check(false, "%s: %s %s", id, name, why)
	return from
}

func differs(w *corpus.CaseFinding, f *findings.Finding) string {
	plain := want{kind: w.Kind, grade: w.Grade, tier: w.Tier, channel: w.Channel, cause: w.Cause, durMS: w.DurMS, within: w.TolMS, open: w.Open}
	if f.Kind != w.Kind {
		return "is another kind"
	}
	if p := plain.differs(f); p != "" {
		return p
	}
	if w.Chunk != nil && (f.Chunk == nil || math.Abs(float64(*f.Chunk-*w.Chunk)) > float64(w.ChunkTol)) {
		return fmt.Sprintf("chunk is %v, want %d", val(f.Chunk), *w.Chunk)
	}
	if w.Attempt > 0 && f.Attempt != w.Attempt {
		return fmt.Sprintf("attempt is %d", f.Attempt)
	}
	var ev map[string]any
	if err := json.Unmarshal(f.Evidence, &ev); err != nil {
		return err.Error()
	}
	for k, raw := range w.Evidences {
		var v any
		_ = json.Unmarshal(raw, &v)
		n, isNumber := ev[k].(float64)
		if x, ok := v.(float64); ok {
			if !isNumber || math.Abs(n-x) > math.Abs(x)/100+0.01 {
				return fmt.Sprintf("evidence %s is %v, want %v", k, ev[k], x)
			}
		} else if fmt.Sprint(ev[k]) != fmt.Sprint(v) {
			return fmt.Sprintf("evidence %s is %v, want %v", k, ev[k], v)
		}
	}
	return ""
}

// facts checks what a request tells beside its findings.
func (a *answer) facts(id string, want corpus.CaseCheck) {
	r := a.p.request(a.t, id)
	server := func() *requests.Stream {
		for i := range r.Attempts {
			if s := r.Attempts[i].Server; s != nil && (r.Attempts[i].Served || len(r.Attempts) == 1) {
				return s
			}
		}
		return &requests.Stream{}
	}()
	for name, raw := range want {
		num := func(got *int64, unit, tol float64) {
			var w *float64
			_ = json.Unmarshal(raw, &w)
			switch {
			case (w == nil) != (got == nil):
				a.check(false, "%s: %s is %v, want %s", id, name, val(got), raw)
			case w != nil:
				a.check(math.Abs(float64(*got)/unit-*w) <= tol, "%s: %s is %v, want %s", id, name, float64(*got)/unit, raw)
			}
		}
		str := func(got string) { a.check(`"`+got+`"` == string(raw), "%s: %s is %q, want %s", id, name, got, raw) }
		count := func(n int) { a.check(fmt.Sprint(n) == string(raw), "%s: %s is %d, want %s", id, name, n, raw) }
		switch name {
		case "ttft_ms":
			num(server.TTFTUS, 1000, 1)
		case "ttfa_ms":
			num(server.TTFAUS, 1000, 1)
		case "tokens":
			num(server.Tokens, 1, 0)
		case "n_content":
			count(server.NContent)
		case "perceived_ms":
			num(r.Perceived.TTFTUS, 1000, 1)
		case "served":
			count(int(*cmpOr(r.ServedAttempt, new(uint32))))
		case "attempts":
			count(len(r.Attempts))
		case "other":
			n := 0
			for i := range r.Attempts {
				n += len(r.Attempts[i].OtherStreams)
			}
			count(n)
		case "client":
			a.check(r.Client != nil, "%s: no client", id)
		case "client_chunks":
			if r.Client != nil {
				count(r.Client.NChunks)
			}
		case "client_state":
			if r.Client == nil {
				a.check(false, "%s: no client", id)
				continue
			}
			str(string(r.Client.State))
		case "state":
			str(string(r.State))
		case "clock_ms":
			var w [2]float64
			_ = json.Unmarshal(raw, &w)
			if r.Clock == nil {
				a.check(false, "%s: no clock", id)
				continue
			}
			off, un := float64(r.Clock.OffsetUS)/1000, float64(r.Clock.UncertaintyUS)/1000
			a.check(math.Abs(off-w[0]) <= un+1 && un <= w[1], "%s: clock %.1f ± %.1f ms", id, off, un)
		default:
			a.check(false, "unknown check %s", name)
		}
	}
}

func cmpOr[T any](p, or *T) *T {
	if p == nil {
		return or
	}
	return p
}

// TestMoreCases posts the cases of processors/testdata/cases_more.jsonl and cases_held.jsonl in every way that senders have, and
// reads them back. FERMATA_CASES=L51,S1?? picks some.
func TestMoreCases(t *testing.T) {
	t.Parallel()
	u := running(t)
	var list []corpus.Case
	for _, name := range []string{"cases_more.jsonl", "cases_held.jsonl"} {
		more, err := corpus.LoadCases("../../processors/testdata/" + name)
		require.NoError(t, err)
		list = append(list, more...)
	}
	picked := strings.FieldsFunc(os.Getenv("FERMATA_CASES"), func(r rune) bool { return r == ',' })
	base := time.Now().Add(-15 * time.Minute).Truncate(time.Second).UnixMicro()
	tag := fmt.Sprintf("%x", time.Now().UnixNano())
	type asked struct {
		*played
		way   string
		wrong []string
		a     *answer
	}
	var all []*asked
	began := time.Now()
	for i := range list {
		c := &list[i]
		if len(picked) > 0 && !slices.ContainsFunc(picked, func(p string) bool { ok, _ := path.Match(p, c.ID); return ok }) {
			continue
		}
		for k, w := range ways {
			if !w.fits(c) || os.Getenv("FERMATA_CASES_WAYS") == "" && k != i%5 && w.name != "otlp" && w.name != "hashes" {
				continue
			}
			p := &played{Case: c, up: u, tenant: "more-" + c.ID + "-" + w.name + "-" + tag, base: base}
			for range map[bool]int{false: 1, true: 2}[c.Twice] {
				w.post(t, u, p.Play("", base), p.tenant)
			}
			all = append(all, &asked{played: p, way: w.name})
		}
	}
	t.Logf("posted %d in %s", len(all), time.Since(began).Round(time.Millisecond))
	ask := func(p *asked) {
		a := &answer{p: p.played, t: collect{}}
		func() {
			defer func() {
				if v := recover(); v != nil {
					a.wrong = append(a.wrong, fmt.Sprint(v))
				}
			}()
			judge(a, &p.CaseLabel)
		}()
		p.a, p.wrong = a, a.wrong
	}
	askAll := func(list []*asked) (wrong []*asked) {
		var wg sync.WaitGroup
		next := make(chan *asked)
		for range 4 {
			wg.Go(func() {
				for p := range next {
					ask(p)
				}
			})
		}
		for _, p := range list {
			next <- p
		}
		close(next)
		wg.Wait()
		return slices.DeleteFunc(slices.Clone(list), func(p *asked) bool { return len(p.wrong) == 0 })
	}
	deadline := time.Now().Add(time.Minute)
	for open := askAll(all); len(open) > 0 && time.Now().Before(deadline); {
		open = askAll(open)
	}
	t.Logf("settled after %s", time.Since(began).Round(time.Millisecond))
	askAll(all) // what came later must not have changed a right answer
	right := map[string][2]int{}
	for _, p := range all {
		t.Run(p.ID+"/"+p.way, func(t *testing.T) {
			require.Empty(t, p.wrong, "%s: %s; %s", p.Title, p.Answer, strings.Join(p.a.saw, "; "))
		})
		n := right[p.way]
		n[1]++
		if len(p.wrong) == 0 {
			n[0]++
		}
		right[p.way] = n
	}
	if t.Failed() { // what Fermata itself says of it
		for line := range strings.Lines(u.log.String()) {
			if strings.Contains(line, "\twarn\t") || strings.Contains(line, "\terror\t") {
				t.Log(line)
			}
		}
	}
	t.Logf("right: %v, asked for %s", right, time.Since(began).Round(time.Millisecond))
}

// TestCasesInOtherWays posts the 58 cases as other senders would and asks for the same answers.
func TestCasesInOtherWays(t *testing.T) {
	t.Parallel()
	u := running(t)
	list, err := corpus.LoadCases("../../processors/testdata/cases.jsonl")
	require.NoError(t, err)
	base := time.Now().Add(-10 * time.Minute).Truncate(time.Second).UnixMicro()
	tag := fmt.Sprintf("%x", time.Now().UnixNano())
	var all []*played
	for i := range list {
		c := &list[i]
		if c.ID == "R05" || c.ID == "W01" { // told by the counters of the public endpoint; parts of one page
			continue
		}
		for k, w := range ways[1:4] {
			if k == i%3 || os.Getenv("FERMATA_CASES_WAYS") != "" {
				p := &played{Case: c, up: u, tenant: "other-" + c.ID + "-" + w.name + "-" + tag, base: base}
				w.post(t, u, p.Play("", base), p.tenant)
				all = append(all, p)
			}
		}
	}
	for _, p := range all {
		var a *answer
		for deadline := time.Now().Add(2 * time.Minute); ; {
			a = &answer{p: p, t: collect{}}
			func() {
				defer func() {
					if v := recover(); v != nil {
						a.wrong = append(a.wrong, fmt.Sprint(v))
					}
				}()
				rightAnswers[p.ID].ask(a)
			}()
			if len(a.wrong) == 0 || time.Now().After(deadline) {
				break
			}
		}
		t.Run(p.tenant, func(t *testing.T) {
			require.Empty(t, a.wrong, "%s; %s", rightAnswers[p.ID].text, strings.Join(a.saw, "; "))
		})
	}
}
