package requestcmd

import (
	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/requests"
)

// NewList returns `fermata requests`.
func NewList() *cobra.Command {
	p := &page[requests.Page]{ask: (*client.API).Requests, draw: timeline.RenderList}
	return p.command(&cobra.Command{
		Use:   "requests",
		Short: "List requests, newest first",
		Example: `  fermata requests --since 15m
  fermata requests --since 24h --state failed --model gpt-4o`,
	}, "requests", 20, []param{
		{"tenant", "tenant", "tenant (default: default)"},
		{"since", "since", "start of the window: RFC 3339, µs since 1970, or a duration like 15m, 24h, 7d (default 1h)"},
		{"until", "until", "end of the window, same forms (default now)"},
		{"model", "model", "only this model"},
		{"deployment", "deployment", "only this deployment"},
		{"provider", "provider", "only this provider"},
		{"app", "app", "only this app"},
		{"query-type", "query_type", "only this type: short_qa, long_form, code_completion, translate_summarize or other"},
		{"state", "state", "only requests that are running, completed, failed or aborted"},
		{"cursor", "cursor", "next_cursor of the answer before"},
	})
}
