//go:build e2e

package e2egateways

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/client"
)

// payload is what LiteLLM sent of a call, by a callback of the test's own.
type payload struct {
	StartTime, EndTime, CompletionStartTime float64
	Status                                  string
	CompletionTokens                        int64  `json:"completion_tokens"`
	ModelID                                 string `json:"model_id"`
	CallID                                  string `json:"litellm_call_id"`
	Metadata                                struct {
		Headers map[string]string `json:"requester_custom_headers"`
	}
}

func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }

// sent returns the payloads of a request, in the order in which they were written.
func sent(t *testing.T, dump, id string) (out []payload) {
	b, err := os.ReadFile(dump)
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		var p *payload
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		if p != nil && p.Metadata.Headers["x-request-id"] == id {
			out = append(out, *p)
		}
	}
	return out
}

// liteLLM starts the proxy with the test's deployments and more configuration, and with callback files beside it. It returns
// its address.
func liteLLM(t *testing.T, at client.Ready, more string, env []string, files map[string]string) string {
	own, err := os.ReadFile("litellm.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	name := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(name, []byte(place(t, string(own), "TAP", at.Tap)+more), 0o600))
	for file, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	p := port(t)
	env = append(env, "LITELLM_MASTER_KEY="+masterKey, "LITELLM_LOCAL_MODEL_COST_MAP=True", "PYTHONPATH="+dir)
	launch(t, env, program(t, "bin/litellm"), "--config", name, "--host", "127.0.0.1", "--port", p)
	answered(t, "http://127.0.0.1:"+p+"/health/liveliness")
	return "http://127.0.0.1:" + p + "/v1"
}

// The callback file for versions that know no callback_settings, and headers that are not forwarded: the tiers join by the
// ids that the server gave.
func TestLiteLLMCallbackFile(t *testing.T) {
	at, data := up(t)
	file := place(t, snippets(t, "litellm", "python")[0], "localhost:4381", at.Ingest)
	base := liteLLM(t, at, "litellm_settings:\n  callbacks: [fermata_callback.h]\n", nil, map[string]string{"fermata_callback.py": file})
	for _, c := range []struct {
		model, state string
		attempts     int
	}{{"chat", "completed", 1}, {"falls-back", "completed", 2}, {"fails", "failed", 1}} {
		t.Run(c.model, func(t *testing.T) {
			id := "callback-" + c.model
			got := stream(t, base, c.model, id, "0")
			r := joined(t, at, id, func(r *request) bool {
				if r.State != c.state || len(r.Attempts) != c.attempts {
					return false
				}
				last := r.Attempts[c.attempts-1]
				return r.Attempts[0].Server != nil && last.Server != nil && last.Gateway != nil && *last.Gateway.Target.Deployment != "falls-back"
			})
			r.clean(t)
			require.Equal(t, c.attempts, *r.ServedAttempt)
			if c.state == "failed" {
				require.Equal(t, 500, got.Error)
				return
			}
			require.Equal(t, got.Tokens, *r.Attempts[c.attempts-1].Server.Tokens)
			require.Contains(t, r.Aliases, got.ResponseID)
		})
	}
	noText(t, data)
}

func TestLiteLLM(t *testing.T) {
	at, data := up(t)
	callback, err := os.ReadFile("dump.py")
	require.NoError(t, err)
	dump := filepath.Join(t.TempDir(), "sent.jsonl")
	config := place(t, snippets(t, "litellm", "yaml")[0], "localhost:4381", at.Ingest)
	config = place(t, config, `callbacks: ["fermata"]`, `callbacks: ["fermata", "dump.h"]`)
	base := liteLLM(t, at, config, []string{"GATEWAY_DUMP=" + dump}, map[string]string{"dump.py": string(callback)})
	for _, c := range []struct {
		model, abort string
		state        string
		attempts     int // upstream calls
		records      int // of LiteLLM
		deployment   string
		status       int
	}{
		{"chat", "0", "completed", 1, 1, "good", 200},
		{"falls-back", "0", "completed", 3, 2, "good", 200}, // one retry of the first, of which LiteLLM writes nothing
		{"retried", "0", "completed", 3, 2, "retried-second", 200},
		{"fails", "0", "failed", 2, 1, "", 500},
		{"cut", "0", "failed", 1, 1, "cut", 0},
		{"chat", "3", "aborted", 1, 1, "good", 499},
		{"slow", "0", "completed", 1, 1, "slow", 200},
	} {
		id := "litellm-" + c.model + "-" + c.abort
		t.Run(id, func(t *testing.T) {
			got := stream(t, base, c.model, id, c.abort)
			r := joined(t, at, id, func(r *request) bool {
				if r.State != c.state || len(r.Attempts) != c.attempts || r.Gateway == nil || len(sent(t, dump, id)) != c.records {
					return false
				}
				first, last := r.Attempts[0], r.Attempts[c.attempts-1]
				return last.Server != nil && first.Gateway != nil && (c.deployment == "" ||
					last.Gateway != nil && last.Gateway.Target.Deployment != nil && *last.Gateway.Target.Deployment == c.deployment)
			})
			require.Equal(t, id, r.RequestID)
			r.clean(t, map[string]string{"slow": "slow_start", "cut": "dead_stream"}[c.model])
			records := sent(t, dump, id)
			require.Contains(t, r.Aliases, records[0].CallID)
			require.Equal(t, "litellm", r.Gateway.Emitter)
			served := r.Attempts[len(r.Attempts)-1]
			for i, a := range r.Attempts {
				require.Equal(t, i+1, a.Attempt)
				require.NotNil(t, a.Server, "attempt %d", a.Attempt)
				if i < len(r.Attempts)-1 || c.state == "failed" {
					require.Equal(t, "failed", a.State)
				}
			}
			whole := records[len(records)-1]
			require.Equal(t, micros(whole.StartTime), r.Gateway.StartedAt)
			require.Equal(t, micros(whole.EndTime)-micros(whole.StartTime), *r.Gateway.LastByteUS)
			if c.status != 0 {
				require.Equal(t, c.status, *r.Gateway.Status)
			}
			if c.state == "failed" {
				require.True(t, got.Cut || got.Error == c.status, "%+v", got)
				return
			}
			require.Equal(t, served.Attempt, *r.ServedAttempt)
			require.True(t, served.Served)
			require.Equal(t, c.deployment, *served.Gateway.Target.Deployment)
			require.Equal(t, whole.ModelID, *served.Gateway.Target.Deployment)
			require.Equal(t, micros(whole.CompletionStartTime)-micros(whole.StartTime), *r.Gateway.FirstByteUS)
			require.Contains(t, r.Aliases, got.ResponseID)
			require.Equal(t, whole.CompletionTokens, *r.Gateway.Tokens)
			// One machine, one clock: the gateway's time has the server's in it.
			server := served.Server
			begin, end := server.StartedAt-r.Gateway.StartedAt, server.StartedAt+*server.EndUS-r.Gateway.StartedAt
			require.GreaterOrEqual(t, begin, int64(0))
			if c.state == "aborted" {
				require.NotNil(t, r.Gateway.CancelledUS)
				require.Equal(t, "client_abort", *r.Gateway.Error)
				return
			}
			require.LessOrEqual(t, end, *r.Gateway.LastByteUS)
			require.Equal(t, got.FinishReason, *server.FinishReason)
			require.Equal(t, got.FinishReason, *served.Gateway.FinishReason)
			require.Equal(t, got.Tokens, *server.Tokens)
			require.Equal(t, got.Tokens, *r.Gateway.Tokens)
			require.GreaterOrEqual(t, got.FirstUS, *server.TTFTUS)
		})
	}
	noText(t, data)
}

// noText looks for the prompts' marker in every file that Fermata keeps.
func noText(t *testing.T, data string) {
	require.NoError(t, filepath.WalkDir(data, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // ClickHouse removes parts meanwhile
		}
		if b, err := os.ReadFile(name); err == nil {
			require.NotContains(t, string(b), "marker-of-a-prompt", name)
		}
		return nil
	}))
}
