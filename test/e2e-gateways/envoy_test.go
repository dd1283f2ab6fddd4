//go:build e2e

package e2egateways

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/client"
)

// envoy starts Envoy with the README's configuration and returns its address.
func envoy(t *testing.T, at client.Ready) string {
	own, err := os.ReadFile("envoy.yaml")
	require.NoError(t, err)
	readme := snippets(t, "envoy", "yaml")
	require.Len(t, readme, 2)
	_, tap, err := net.SplitHostPort(at.Tap)
	require.NoError(t, err)
	_, otlp, err := net.SplitHostPort(at.OTLPGRPC)
	require.NoError(t, err)
	listen := port(t)
	config := place(t, string(own), "LISTEN", listen)
	config = place(t, config, "BROKEN", broken(t))
	config = place(t, config, "TAP_PORT", tap)
	config = place(t, config, "\nMANAGER\n", "\n"+indent(readme[0], 10)+"\n")
	config = place(t, config, "\nCLUSTER\n", "\n"+indent(place(t, readme[1], "4317", otlp), 2)+"\n")
	name := filepath.Join(t.TempDir(), "envoy.yaml")
	require.NoError(t, os.WriteFile(name, []byte(config), 0o600))
	launch(t, nil, program(t, "lib/python*/site-packages/envoy/_bin/envoy"), "-c", name, "--concurrency", "1", "--use-dynamic-base-id")
	answered(t, "http://127.0.0.1:"+listen+"/") // 404
	return "http://127.0.0.1:" + listen
}

func TestEnvoy(t *testing.T) {
	at, data := up(t)
	base := envoy(t, at)
	for _, c := range []struct {
		path, model, abort string
		state              string
		served             int // number of the last call
		server             int // calls that the tap saw
		deployment         string
		status             int
		error              string
	}{
		{"/v1", "demo", "0", "completed", 1, 1, "model", 200, ""},
		{"/v1", "demo-http-500", "0", "failed", 2, 2, "model", 500, "upstream_retry_limit_exceeded"},
		{"/two/v1", "demo", "0", "completed", 2, 1, "two", 200, ""}, // the first never reached the tap
		{"/v1", "demo-cut", "0", "failed", 1, 1, "model", 200, "upstream_protocol_error"},
		{"/v1", "demo", "3", "aborted", 1, 1, "model", 200, ""},
		{"/v1", "demo-slow-start", "0", "completed", 1, 1, "model", 200, ""},
	} {
		id := "envoy-" + c.model + "-" + c.abort
		if c.deployment == "two" {
			id += "-two"
		}
		t.Run(id, func(t *testing.T) {
			got := stream(t, base+c.path, c.model, id, c.abort)
			r := joined(t, at, id, func(r *request) bool {
				return r.State == c.state && r.Gateway != nil && len(r.Attempts) == c.server && r.Attempts[c.server-1].Server != nil
			})
			r.clean(t, map[string]string{"demo-slow-start": "slow_start", "demo-cut": "dead_stream"}[c.model])
			require.Equal(t, "envoy-front", r.Gateway.Emitter)
			require.Equal(t, c.status, *r.Gateway.Status)
			require.EqualValues(t, c.served-1, *r.Gateway.Retries)
			if c.error != "" {
				require.Equal(t, c.error, *r.Gateway.Error)
			}
			last := r.Attempts[c.server-1]
			require.Equal(t, c.served, last.Attempt)
			require.Equal(t, c.served, *r.ServedAttempt)
			require.Equal(t, c.deployment, *last.Gateway.Target.Deployment)
			server, g := last.Server, r.Gateway
			begin, end := server.StartedAt-g.StartedAt, server.StartedAt+*server.EndUS-g.StartedAt
			// Envoy and the tap read one clock; Envoy reads it in whole µs and once a turn of its loop.
			const turn = 1000
			require.NotNil(t, g.SentUS)
			require.LessOrEqual(t, *g.SentUS, begin+turn)
			require.LessOrEqual(t, *g.FirstByteUS, *g.LastByteUS)
			if c.state != "completed" {
				require.True(t, got.Cut || got.Error == c.status || c.state == "aborted", "%+v", got)
				require.Equal(t, c.state == "aborted", g.CancelledUS != nil)
				return
			}
			require.LessOrEqual(t, end, *g.LastByteUS+turn)
			require.Contains(t, r.Aliases, got.ResponseID)
			require.Equal(t, got.FinishReason, *server.FinishReason)
			require.Equal(t, got.Tokens, *server.Tokens)
			require.GreaterOrEqual(t, got.FirstUS, *server.TTFTUS)
		})
	}
	noText(t, data)
}
