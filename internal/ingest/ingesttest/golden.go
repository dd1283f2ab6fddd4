package ingesttest

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/plogtest"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Now is the receiver's clock in golden tests.
var Now = time.Date(2026, 10, 9, 8, 0, 0, 0, time.UTC)

// Golden decodes every testdata/in/*.json and *.ndjson and compares what reaches the pipeline with
// testdata/golden. With a schema, the JSON files must be valid by it.
func Golden(t *testing.T, decode ingest.DecodeFunc, header http.Header, schema []byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/in/*.ndjson")
	require.NoError(t, err)
	plain, err := filepath.Glob("testdata/in/*.json")
	require.NoError(t, err)
	files = append(files, plain...)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file) //nolint:gosec // a test's own file
			require.NoError(t, err)
			if schema != nil && strings.HasSuffix(file, ".json") {
				Valid(t, schema, body)
			}
			opt := wire.NewDefaultDecodeOptions()
			opt.Now, opt.NDJSON = Now, strings.HasSuffix(file, ".ndjson")
			b := ingest.NewBatch(Now, false)
			decode(&http.Request{Header: header}, body, opt, b)
			require.Empty(t, b.Answer().Errors)
			path := filepath.Join("testdata/golden", strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))+".yaml")
			if *update {
				require.NoError(t, golden.WriteLogsToFile(path, b.Logs()))
			}
			want, err := golden.ReadLogs(path)
			require.NoError(t, err, "run the test with -update")
			require.NoError(t, plogtest.CompareLogs(want, b.Logs()))
		})
	}
}

// Valid checks a body against a JSON Schema.
func Valid(t testing.TB, schema, body []byte) {
	t.Helper()
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("body.json", s))
	compiled, err := c.Compile("body.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(doc))
}

// Load reads one named configuration of a YAML file over cfg and validates it.
func Load(t testing.TB, file, name string, cfg component.Config) error {
	t.Helper()
	all, err := confmaptest.LoadConf(file)
	require.NoError(t, err)
	sub, err := all.Sub(name)
	require.NoError(t, err)
	if err := sub.Unmarshal(cfg); err != nil {
		return err
	}
	return confmap.Validate(cfg)
}
