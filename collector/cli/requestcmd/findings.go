package requestcmd

import (
	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/findings"
)

// NewFindings returns `fermata findings`.
func NewFindings() *cobra.Command {
	p := &page[findings.Page]{ask: (*client.API).Findings, draw: timeline.RenderFindings}
	return p.command(&cobra.Command{
		Use:   "findings",
		Short: "List what went wrong, latest first",
		Example: `  fermata findings --since 15m
  fermata findings --kind loop --since 24h
  fermata findings --request req-1 --json`,
	}, "findings", 50, []param{
		{"tenant", "tenant", "tenant (default: default)"},
		{"request", "request_id", "only findings of this request"},
		{"kind", "kind", "only this kind: stall, loop, buffering, …; a wrong one is answered with the list of all"},
		{"since", "since", "only what began then or later: RFC 3339, µs since 1970, or a duration like 15m, 24h, 7d"},
		{"until", "until", "only what began before, same forms"},
		{"cursor", "cursor", "next_cursor of the answer before"},
	})
}
