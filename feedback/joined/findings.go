package joined

import (
	"cmp"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// Names lists the ids under which findings of a request are stored: its own, and those of records that were logged under
// another of its names.
func Names(r *requests.Request) []string {
	const most = 64
	return append([]string{r.RequestID}, r.Aliases[:min(len(r.Aliases), most)]...)
}

// Derive returns what the tiers together show: new findings, and stored ones of single streams that are attributed anew.
// stored are the rows of Names; rows of earlier joins among them are not looked at.
func Derive(r *requests.Request, stored []findings.Row, cfg *crosstier.Config) (found, refined []wire.Finding) {
	var ofStreams []wire.Finding
	for i := range stored {
		if stored[i].Origin == findings.OriginStream && !stored[i].Withdrawn {
			ofStreams = append(ofStreams, stored[i].ToWire())
		}
	}
	return crosstier.Derive(Request(r, ofStreams), cfg)
}

// Findings returns all findings of a request as the API tells them, in the order in which they began.
func Findings(r *requests.Request, stored []findings.Row, cfg *crosstier.Config) []findings.Finding {
	found, refined := Derive(r, stored, cfg)
	out := []findings.Finding{}
	for i := range stored {
		row := stored[i]
		if row.Origin == findings.OriginJoin || row.Withdrawn {
			continue // derived anew, from all that is known by now
		}
		for k := range refined {
			if refined[k].ID == row.ID {
				row.Attribution = refined[k].Attribution
			}
		}
		out = append(out, row.Finding())
	}
	for i := range found {
		row := findings.FromWire(&found[i], findings.OriginJoin)
		out = append(out, row.Finding())
	}
	slices.SortFunc(out, func(a, b findings.Finding) int { return cmp.Or(cmp.Compare(a.At(), b.At()), cmp.Compare(a.ID, b.ID)) })
	return out
}
