package clickhouse_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func configFor(e *enginetest.Engine, database string) clickhouse.Config {
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(e.DSN(database))
	return cfg
}

func open(t *testing.T, cfg clickhouse.Config) driver.Conn {
	t.Helper()
	conn, err := clickhouse.Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

func openInserter(t *testing.T, cfg clickhouse.Config) *clickhouse.Inserter {
	t.Helper()
	ins, err := clickhouse.OpenInserter(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ins.Close()) })
	return ins
}

func count(t *testing.T, conn driver.Conn, table string) uint64 {
	t.Helper()
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM "+table).Scan(&n))
	return n
}

func numbers(n int) clickhouse.Block {
	col := make(proto.ColUInt32, n)
	for i := range col {
		col[i] = uint32(i)
	}
	return clickhouse.Block{SQL: "INSERT INTO t (x) VALUES", Input: proto.Input{{Name: "x", Data: &col}}}
}

// ClickHouse notes a block before the block is there, and a server that is killed in between would take the repeated one for
// written.
func TestRepeatedInsertIsTaken(t *testing.T) {
	e := enginetest.Start(t)
	cfg := configFor(e, e.NewDatabase(t))
	conn := open(t, cfg)
	require.NoError(t, clickhouse.Ping(t.Context(), conn))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt32) ENGINE = MergeTree ORDER BY x SETTINGS non_replicated_deduplication_window = 100"))
	ins := openInserter(t, cfg)

	require.NoError(t, ins.Insert(t.Context(), numbers(10)))
	var part string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT path FROM system.parts WHERE active AND database = currentDatabase() AND table = 't'").Scan(&part))
	require.NoError(t, os.RemoveAll(part))
	pid := e.PID()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return e.Healthy() && e.PID() != pid }, time.Minute, 5*time.Millisecond)

	require.NoError(t, ins.Insert(t.Context(), numbers(10)), "the pool's connection broke, a new one does")
	require.EqualValues(t, 10, count(t, conn, "t"))
	require.NoError(t, ins.Insert(t.Context(), numbers(10)))
	require.EqualValues(t, 20, count(t, conn, "t"))
}

func TestInsertToManyPartitions(t *testing.T) {
	e := enginetest.Start(t)
	cfg := configFor(e, e.NewDatabase(t))
	conn := open(t, cfg)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt32) ENGINE = MergeTree PARTITION BY x ORDER BY x"))
	require.NoError(t, openInserter(t, cfg).Insert(t.Context(), numbers(150)))
	require.EqualValues(t, 150, count(t, conn, "t"))
}

func TestInserterAfterClose(t *testing.T) {
	e := enginetest.Start(t)
	ins, err := clickhouse.OpenInserter(configFor(e, e.NewDatabase(t)))
	require.NoError(t, err)
	require.NoError(t, ins.Close())
	require.ErrorIs(t, ins.Insert(t.Context(), numbers(1)), clickhouse.ErrClosed)
}

func TestClassify(t *testing.T) {
	e := enginetest.Start(t)
	cfg := configFor(e, e.NewDatabase(t))
	conn := open(t, cfg)
	ins := openInserter(t, cfg)

	for name, tc := range map[string]struct {
		err  error
		want clickhouse.Class
	}{
		"syntax":               {conn.Exec(t.Context(), "SELEKT 1"), clickhouse.Permanent},
		"value out of range":   {conn.Exec(t.Context(), "SELECT accurateCast(300, 'UInt8')"), clickhouse.Permanent},
		"memory":               {conn.Exec(t.Context(), "SELECT groupArray(number) FROM numbers(10000000) SETTINGS max_memory_usage = 1000000"), clickhouse.Overloaded},
		"missing table":        {ins.Insert(t.Context(), numbers(1)), clickhouse.Retryable},
		"missing table, query": {conn.Exec(t.Context(), "SELECT * FROM t"), clickhouse.Retryable},
		"anything else":        {errors.New("connection reset"), clickhouse.Retryable},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, tc.err)
			require.Equal(t, tc.want, clickhouse.Classify(fmt.Errorf("wrapped: %w", tc.err)), "%v", tc.err)
		})
	}

	cfg.DSN = "clickhouse://127.0.0.1:1/x"
	require.Equal(t, clickhouse.Retryable, clickhouse.Classify(open(t, cfg).Ping(t.Context())))
	require.Equal(t, clickhouse.Retryable, clickhouse.Classify(openInserter(t, cfg).Insert(t.Context(), numbers(1))))
}

func TestConfigValidate(t *testing.T) {
	good := clickhouse.NewDefaultConfig()
	good.DSN = "clickhouse://u:secret@127.0.0.1:9000,127.0.0.2:9000/db?secure=true"
	require.NoError(t, good.Validate())
	require.Equal(t, "db", good.Database())

	for dsn, want := range map[string][]string{
		"clickhouse://h/db":                     {"h:9000"},
		"clickhouse://u:p@h,[::1],i:1/db":       {"h:9000", "[::1]:9000", "i:1"},
		"clickhouse://h/db?secure=true":         {"h:9440"},
		"clickhouse://h:9000/db?secure=true":    {"h:9000"},
		"clickhouse://127.0.0.1/?secure=false":  {"127.0.0.1:9000"},
		"clickhouse://u:a%2Fb%40c@h/db?a=b%26c": {"h:9000"},
	} {
		cfg := clickhouse.NewDefaultConfig()
		cfg.DSN = configopaque.String(dsn)
		opts, err := cfg.Options()
		require.NoError(t, err, dsn)
		require.Equal(t, want, opts.Addr, dsn)
		if strings.Contains(dsn, "%2F") {
			require.Equal(t, "a/b@c", opts.Auth.Password)
			require.Equal(t, "b&c", opts.Settings["a"])
		}
	}

	bad := clickhouse.Config{CertFile: "x", MaxIdleConns: 3}
	err := bad.Validate()
	for _, key := range []string{"dsn", "cert_file, key_file", "max_open_conns", "max_idle_conns", "conn_max_lifetime", "dial_timeout", "read_timeout"} {
		require.ErrorContains(t, err, key+": ")
	}
	for dsn, want := range map[string]string{
		"http://u:secret@host/db":                 `scheme "http" is not supported`,
		"host:9000":                               "has no scheme",
		"clickhouse://u:se%zzcret@host:9000":      "dsn: can't be read",
		"clickhouse://u:secret@host/db?x\x7f=1":   "dsn: can't be read",
		"clickhouse://u:secret@h/?dial_timeout=x": "dsn: can't be read",
	} {
		good.DSN = configopaque.String(dsn)
		err := good.Validate()
		require.ErrorContains(t, err, want, dsn)
		require.NotContains(t, err.Error(), "cret@", "no password in errors")
	}
	require.Equal(t, "clickhouse://host:9000/db", clickhouse.RedactDSN("clickhouse://u:secret@host:9000/db?password=secret"))
	require.Equal(t, "(unreadable DSN)", clickhouse.RedactDSN("%zz"))
}

func TestOptionsTLS(t *testing.T) {
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = "clickhouse://h:9440/db?secure=true"
	opts, err := cfg.Options()
	require.NoError(t, err)
	require.NotNil(t, opts.TLS)
	cfg.CAFile = "/nowhere.pem"
	_, err = cfg.Options()
	require.ErrorContains(t, err, "ca_file: ")
}
