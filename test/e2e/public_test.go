package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/freeport"
)

// public is a collector with the shipped configuration for the public, in front of the ClickHouse of an up.
type public struct {
	url     string
	metrics string // URL of its own counters
	n       int
}

// writer is the data source name of the user that may write; the ready file names the reader's.
func (u *up) writer(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(u.data, "engine", "credentials.json"))
	require.NoError(t, err)
	var c struct{ Fermata string }
	require.NoError(t, json.Unmarshal(b, &c))
	dsn, err := neturl.Parse(u.ClickHouse)
	require.NoError(t, err)
	dsn.User = neturl.UserPassword("fermata", c.Fermata)
	return dsn.String()
}

// startPublic gives each tenant a write key, which is its name.
func startPublic(t *testing.T, u *up, tenants []string) *public {
	t.Helper()
	var keys []string
	for _, name := range tenants {
		keys = append(keys, fmt.Sprintf(`{key: %q, tenant: %q, allowed_origins: ["https://*.shop.example"]}`, name, name))
	}
	override := "yaml:receivers::fermata_rum: {http: {endpoint: \"127.0.0.1:0\"}, keys: [" + strings.Join(keys, ", ") + "]}"
	port, err := freeport.Pick()
	require.NoError(t, err)
	cmd := exec.Command(binary, "collector", "--config", "../../collector/configs/rum-public.yaml", "--config", override,
		"--config", fmt.Sprintf("yaml:service::telemetry::metrics: {level: normal, readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %d}}}}]}", port))
	log := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "FERMATA_CLICKHOUSE="+u.writer(t), "FERMATA_QUEUE="+t.TempDir())
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	bound := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	p := &public{metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", port)}
	require.Eventually(t, func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		for _, line := range strings.Split(log.String(), "\n") {
			if a := bound.FindString(line); a != "" && strings.Contains(line, "HTTP server started") {
				p.url = "http://" + a
			}
		}
		return p.url != "" && dials(t.Context(), p.url)
	}, 2*time.Minute, 20*time.Millisecond)
	require.NotEmpty(t, p.url, log.String())
	return p
}

func dials(ctx context.Context, url string) bool {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// beacon posts a page's record as a browser behind the proxy does: text/plain, compressed, with the app's key, from a page of
// the app. The forms that browsers have take turns.
func (p *public) beacon(t *testing.T, key string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	p.n++
	form := p.n % 3
	target := p.url + "/v1/rum"
	if form != 2 {
		target += "?key=" + key
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, &b)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "text/plain;charset=UTF-8")
	req.Header.Set("Origin", "https://www.shop.example")
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", p.n%250))
	switch form {
	case 1:
		req.Header.Set("Content-Encoding", "gzip")
	case 2:
		req.Header.Set("X-API-Key", key)
	}
	code, answer := do(t, req)
	require.Equal(t, http.StatusOK, code, "%s", answer)
}

// TestPublicEndpointRefuses sends to the shipped configuration what it must not take.
func TestPublicEndpointRefuses(t *testing.T) {
	u := running(t)
	tenant := fmt.Sprintf("public-%x", time.Now().UnixNano())
	p := startPublic(t, u, []string{tenant})
	post := func(query, origin, path string) int {
		t.Helper()
		body := fmt.Sprintf(`{"session_id":"s","tenant":"somebody-else","streams":[{"request_id":"forged","submit_at":%d}]}`, p.n)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+path+query, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "text/plain")
		req.Header.Set("Origin", origin)
		req.Header.Set("X-Forwarded-For", "203.0.113.7")
		code, _ := do(t, req)
		return code
	}
	require.Equal(t, 401, post("", "https://www.shop.example", "/v1/rum"))
	require.Equal(t, 401, post("?key=shop-4f1c9a2e", "https://www.shop.example", "/v1/rum"), "the key of the example is not in use")
	require.Equal(t, 403, post("?key="+tenant, "https://evil.example", "/v1/rum"))
	require.Equal(t, 404, post("?key="+tenant, "https://www.shop.example", "/v1/chunks"), "nothing but beacons is served")
	require.Equal(t, 404, post("?key="+tenant, "https://www.shop.example", "/v1/gateway"))
	const burst, perSecond = 200, 20 // of one address, as the configuration has it
	limited, taken, began := 0, 0, time.Now()
	for range 10 * burst {
		switch post("?key="+tenant, "https://www.shop.example", "/v1/rum") {
		case http.StatusTooManyRequests:
			limited++
		case http.StatusOK:
			taken++
		}
	}
	require.Positive(t, limited)
	require.Equal(t, 10*burst, limited+taken)
	require.LessOrEqual(t, taken, burst+int(time.Since(began).Seconds()*perSecond)+1)
	p.beacon(t, tenant, []byte(`{"session_id":"s","tenant":"somebody-else","streams":[{"request_id":"real","submit_at":5}]}`))
	require.Eventually(t, func() bool {
		code, _ := u.get(t, "/v1/requests/real?tenant="+tenant)
		return code == http.StatusOK
	}, 2*time.Minute, 50*time.Millisecond)
	code, _ := u.get(t, "/v1/requests/real?tenant=somebody-else")
	require.Equal(t, http.StatusNotFound, code, "the key says whose it is")
}
