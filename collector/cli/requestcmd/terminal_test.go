package requestcmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/timeline"
)

func TestDrawing(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	var out bytes.Buffer
	require.Equal(t, timeline.Options{Width: 100}, drawing(&out, 0, env(nil)), "no terminal: no colour")
	require.Equal(t, timeline.Options{Width: 70}, drawing(&out, 70, env(map[string]string{"LANG": "de_DE.utf8"})))
	require.True(t, drawing(&out, 0, env(map[string]string{"LANG": "C"})).ASCII)
	require.True(t, drawing(&out, 0, env(map[string]string{"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"})).ASCII, "LC_ALL wins")
	require.False(t, drawing(&out, 0, env(map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"})).ASCII)
}
