package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// The harness itself works, on so little that its figures mean nothing; the peer takes part where FERMATA_BENCH_PEER names
// one.
func TestEveryPart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some twenty processes")
	}
	binary := filepath.Join(t.TempDir(), "fermata")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/fermata-io/fermata/collector/cmd/fermata").CombinedOutput()
	require.NoError(t, err, string(out))
	var tables strings.Builder
	require.NoError(t, run(t.Context(), options{
		fermata: binary, peer: os.Getenv("FERMATA_BENCH_PEER"), parts: allParts,
		streams: 200, runs: 1, conns: 4, beacons: 200, live: 2 * time.Second, away: 4 * time.Second, awayRate: 1200,
	}, &tables, t.Output()))
	for _, title := range []string{"### Ingest and disk", "### Growth", "### Beacons", "### Questions", "### Running streams and memory", "### Outage", "### Overload"} {
		require.Contains(t, tables.String(), title)
	}
	require.NotContains(t, tables.String(), "NaN")
}
