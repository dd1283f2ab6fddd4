package collector

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/client"
)

func TestGateOpensWithTheReadyFiles(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	g := &gate{}
	check := func() error { _, err := g.check().Check(t.Context()); return err }
	require.Error(t, check())

	require.Error(t, g.open([]string{files[0], filepath.Join(dir, "none", "b")}, client.Ready{PID: 1}))
	require.Error(t, check(), "a file is missing")
	g.shut(files)
	require.NoFileExists(t, files[0])

	require.NoError(t, g.open(files, client.Ready{PID: 1}))
	require.NoError(t, check())
	for _, f := range files {
		require.FileExists(t, f)
	}
	g.shut(files)
	require.Error(t, check())
	for _, f := range files {
		require.NoFileExists(t, f)
	}
}

func TestClearReady(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ready.json")
	require.False(t, clearReady(name), "there is none")

	gone := exec.Command(os.Args[0], "-test.run", "^$")
	require.NoError(t, gone.Run())
	require.NoError(t, writeReady(name, client.Ready{PID: gone.Process.Pid}))
	require.False(t, clearReady(name))
	require.NoFileExists(t, name, "its process is gone")

	require.NoError(t, writeReady(name, client.Ready{PID: os.Getpid()}))
	require.False(t, clearReady(name))
	require.NoFileExists(t, name, "in a container every process has the same number")

	require.NoError(t, writeReady(name, client.Ready{PID: os.Getppid()}))
	require.True(t, clearReady(name))
	require.FileExists(t, name, "its process lives")

	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.False(t, clearReady(name))
	require.FileExists(t, name, "not one of ours")
}
