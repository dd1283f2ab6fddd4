package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/collector/cli/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("FERMATA_DATA", "")
	require.Equal(t, "/home/someone/.local/share/fermata", client.DefaultDataDir())
	t.Setenv("XDG_DATA_HOME", "relative is to be ignored")
	require.Equal(t, "/home/someone/.local/share/fermata", client.DefaultDataDir())
	t.Setenv("XDG_DATA_HOME", "/data")
	require.Equal(t, "/data/fermata", client.DefaultDataDir())
	t.Setenv("FERMATA_DATA", "/own")
	require.Equal(t, "/own", client.DefaultDataDir())
}

func TestReadReady(t *testing.T) {
	dir := t.TempDir()
	_, err := client.ReadReady(dir)
	require.ErrorIs(t, err, client.ErrNotRunning)
	name := filepath.Join(dir, client.ReadyFileName)
	require.NoError(t, os.WriteFile(name, []byte(`{"api":"127.0.0.1:4380","otlp_http":"127.0.0.1:4318","pid":7,"later":1}`), 0o600))
	r, err := client.ReadReady(dir)
	require.NoError(t, err)
	require.Equal(t, client.Ready{API: "127.0.0.1:4380", OTLPHTTP: "127.0.0.1:4318", PID: 7}, r)
	require.NoError(t, os.WriteFile(name, []byte(`{`), 0o600))
	_, err = client.ReadReady(dir)
	require.ErrorContains(t, err, "ready.json")
}

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:4380": "http://127.0.0.1:4380", "http://x/": "http://x", "https://x:1/prefix/?q=1#f": "https://x:1/prefix", "[::1]:80": "http://[::1]:80",
	} {
		got, err := client.BaseURL(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "ftp://x", "http://", "http://%zz"} {
		_, err := client.BaseURL(in)
		require.Error(t, err, in)
	}
}
