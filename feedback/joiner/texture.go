package joiner

import (
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/texture"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/streams"
)

var (
	//go:embed queries/versions.sql
	versionsSQL string
	//go:embed queries/sample.sql
	sampleSQL string
)

// version is one version of a target that has streams in the window.
type version struct {
	name  string
	first int64 // start of its first stream
	n     uint64
}

// textureConfig is stricter than one comparison needs, since it is made again and again while streams come in.
func textureConfig() texture.Config {
	c := texture.NewDefaultConfig()
	c.Alpha, c.Permutation = 0.001, 5000
	return c
}

// Shifts smaller than this are not felt, however certain they are.
const (
	feltRatio = 1.25
	feltJSD   = 0.3
)

// textures compares the two latest versions of each target that got new streams. It is made less often than joins, and
// takes at most a twentieth of the time.
func (w *worker) textures(ctx context.Context) error {
	if time.Now().Before(w.textureDue) {
		return nil
	}
	began := time.Now()
	type target struct{ tenant, provider, deployment, model string }
	var order []target
	versions := map[target][]version{}
	err := w.query(ctx, "versions", versionsSQL, func(rows driver.Rows) error {
		var t target
		var v version
		if err := rows.Scan(&t.tenant, &t.provider, &t.deployment, &t.model, &v.name, &v.first, &v.n); err != nil {
			return err
		}
		if versions[t] == nil {
			order = append(order, t)
		}
		versions[t] = append(versions[t], v)
		return nil
	}, clickhouse.Named("from", w.textureFrom), clickhouse.Named("window", int64(w.cfg.TextureWindow.Seconds())))
	if err != nil {
		return err
	}
	for _, t := range order {
		v := versions[t]
		if len(v) < 2 {
			continue
		}
		s := source{tenant: t.tenant, provider: t.provider, deployment: t.deployment, model: t.model}
		if err := w.compare(ctx, s, v[len(v)-2], v[len(v)-1]); err != nil {
			return err
		}
	}
	w.textureFrom = w.from
	w.textureDue = time.Now().Add(max(w.cfg.TextureInterval, 20*time.Since(began)))
	return nil
}

// compare tells which sides of the texture shifted between two versions.
func (w *worker) compare(ctx context.Context, s source, before, after version) error {
	cfg := textureConfig()
	if before.n < uint64(cfg.MinStreams) || after.n < uint64(cfg.MinStreams) { //nolint:gosec // small
		return nil
	}
	a, err := w.sample(ctx, s, before.name)
	if err != nil {
		return err
	}
	b, err := w.sample(ctx, s, after.name)
	if err != nil {
		return err
	}
	stored, err := w.found.Rows(ctx, s.tenant, []string{""})
	if err != nil {
		return err
	}
	last := map[string]*findings.Row{}
	for i := range stored {
		last[stored[i].ID] = &stored[i]
	}
	var write []findings.Row
	for _, shift := range texture.Compare(cfg, a, b) {
		if !shift.Known {
			continue
		}
		row := shiftRow(s, before, after, &shift)
		old := last[row.ID]
		switch {
		case felt(&shift) && (old == nil || old.Withdrawn || 2*sampleOf(old) <= shift.After):
			if old != nil {
				row.Version = old.Version + 1
			}
			write = append(write, row)
		case !shift.Shifted && old != nil && !old.Withdrawn:
			row = *old
			row.Withdrawn = true
			row.Version++
			write = append(write, row)
		}
	}
	return w.write(ctx, write)
}

func felt(s *texture.Shift) bool {
	if !s.Shifted {
		return false
	}
	ratio := (s.MedianAfter + 1e-9) / (s.MedianBefore + 1e-9)
	return math.Abs(math.Log2(ratio)) >= math.Log2(feltRatio) || s.JSD >= feltJSD
}

// maxSample is how many streams of a version are compared.
const maxSample = 300

func (w *worker) sample(ctx context.Context, s source, version string) ([]texture.Profile, error) {
	sc := streams.Table.NewScanner()
	var out []texture.Profile
	sql := strings.ReplaceAll(sampleSQL, "{{columns}}", streams.Table.SelectList())
	err := w.query(ctx, "sample", sql, func(rs driver.Rows) error {
		row, err := sc.Scan(rs)
		if err != nil {
			return err
		}
		st := row.ToWire()
		p := texture.ProfileOf(&st.Chunks)
		if st.StartUnknown {
			p[texture.FirstToken] = math.NaN()
		}
		out = append(out, p)
		return nil
	}, clickhouse.Named("tenant", s.tenant), clickhouse.Named("provider", s.provider), clickhouse.Named("deployment", s.deployment),
		clickhouse.Named("model", s.model), clickhouse.Named("version", version),
		clickhouse.Named("window", int64(w.cfg.TextureWindow.Seconds())), clickhouse.Named("limit", maxSample))
	return out, err
}

// shiftEvidence is what a texture shift rests on. Medians are in the quality's unit: µs, chunks, bytes or a ratio.
type shiftEvidence struct {
	Feature      string   `json:"feature"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	Before       int      `json:"before"` // streams compared
	After        int      `json:"after"`
	MedianBefore float64  `json:"median_before"`
	MedianAfter  float64  `json:"median_after"`
	Ratio        *float64 `json:"ratio,omitempty"`
	RatioLow     *float64 `json:"ratio_low,omitempty"`
	RatioHigh    *float64 `json:"ratio_high,omitempty"`
	Delta        float64  `json:"delta"` // Cliff's
	PLarger      float64  `json:"p_larger"`
	JSD          float64  `json:"jsd"`
	PShape       float64  `json:"p_shape"`
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func shiftRow(s source, before, after version, x *texture.Shift) findings.Row {
	ev, err := json.Marshal(shiftEvidence{
		Feature: string(x.Quality), From: before.name, To: after.name, Before: x.Before, After: x.After,
		MedianBefore: x.MedianBefore, MedianAfter: x.MedianAfter, Ratio: known(x.Ratio), RatioLow: known(x.RatioLow), RatioHigh: known(x.RatioHigh),
		Delta: x.Delta, PLarger: x.PLarger, JSD: x.JSD, PShape: x.PShape,
	})
	if err != nil { // numbers and names only, and those finite
		ev = []byte("{}")
	}
	severity := "info"
	if r := x.MedianAfter / max(x.MedianBefore, 1e-9); r >= 2 || r <= 0.5 {
		severity = "warning"
	}
	what := strings.Join([]string{s.provider, s.deployment, s.model, before.name, after.name}, "\x00")
	f := wire.Finding{
		ID:   wire.FindingID(wire.FindingTextureShift, s.tenant, "", wire.TierServer, 0, what, 0, string(x.Quality), -1),
		Kind: wire.FindingTextureShift, Tenant: s.tenant, Tier: wire.TierServer, StartedAt: after.first, Channel: "content",
		Severity: severity, Attribution: "engine", Confidence: x.Confidence, Evidence: ev, Revision: 1,
		Target: wire.Target{Provider: s.provider, Deployment: s.deployment, Model: s.model, ModelVersion: after.name},
	}
	return findings.FromWire(&f, findings.OriginTarget)
}

// sampleOf is how many streams of the later version a stored shift rests on.
func sampleOf(r *findings.Row) int {
	var ev shiftEvidence
	if json.Unmarshal([]byte(r.Evidence), &ev) != nil {
		return 0
	}
	return ev.After
}
