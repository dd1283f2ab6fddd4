package clickhouseexporter

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/migrations"
)

func TestWritesEveryKindOfRecord(t *testing.T) {
	dsn, conn := newDatabase(t, enginetest.Start(t))
	e := start(t, configFor(dsn), storageHost(t, t.TempDir(), nil))
	now := time.Now()
	logs := streamLogs(0, 3, 5, now)
	records := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	streamlog.PutGateway(records.AppendEmpty(), &wire.Gateway{
		RequestID: "req-00000001", Tenant: "t1", ReceivedAt: now.UnixMicro(), Aliases: []string{"call-1"},
	})
	streamlog.PutClient(records.AppendEmpty(), &wire.Client{
		RequestID: "req-00000001", Tenant: "t1", SessionID: "s", ReceivedAt: now.UnixMicro(), TraceID: strings.Repeat("a", 32),
	})
	streamlog.PutFinding(records.AppendEmpty(), &wire.Finding{
		ID: "f", Kind: wire.FindingStall, Grade: "freeze", RequestID: "req-00000001", Tenant: "t1", Tier: wire.TierServer, Attempt: 1,
		StartedAt: now.UnixMicro(), Chunk: wire.Some[int64](5), StartUS: 7, DurationUS: 9, Evidence: []byte(`{"gaps":1}`), Revision: 1025,
	})
	require.NoError(t, e.ConsumeLogs(t.Context(), logs))
	require.NoError(t, e.Shutdown(t.Context()), "a clean stop writes what is in the queue")

	require.EqualValues(t, 3, count(t, conn, "SELECT count() FROM streams WHERE n_chunks = 5 AND length(gaps_us) = 4"))
	require.EqualValues(t, 1, count(t, conn, "SELECT count() FROM gateways WHERE tenant = 't1'"))
	require.EqualValues(t, 1, count(t, conn, "SELECT count() FROM clients WHERE tenant = 't1'"))
	require.EqualValues(t, 1, count(t, conn, "SELECT count() FROM findings WHERE id = 'f' AND origin = 'stream' AND chunk = 5 AND version = 1025"))
	require.EqualValues(t, 5, count(t, conn, "SELECT count() FROM aliases"))
	require.EqualValues(t, 1, count(t, conn, "SELECT count() FROM aliases WHERE alias = 'call-1' AND request_id = 'req-00000001'"))
}

func TestRepeatedBatchIsStoredOnce(t *testing.T) {
	dsn, conn := newDatabase(t, enginetest.Start(t))
	e, err := newExporter(exportertest.NewNopSettings(Type), configFor(dsn))
	require.NoError(t, err)
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	now := time.Now()
	for range 3 {
		require.NoError(t, e.push(t.Context(), requestOf(t, streamLogs(0, 100, 5, now))))
	}
	require.EqualValues(t, 100, count(t, conn, "SELECT count() FROM streams FINAL"), "its rows are equal in identity")
	require.EqualValues(t, 100, count(t, conn, "SELECT count() FROM aliases FINAL"))
	require.NoError(t, e.push(t.Context(), requestOf(t, streamLogs(50, 150, 5, now))))
	require.EqualValues(t, 150, count(t, conn, "SELECT count() FROM streams FINAL"), "gathered otherwise, too")
	require.NoError(t, e.shutdown(t.Context()))
}

func TestBadRecordsCostNoOther(t *testing.T) {
	dsn, conn := newDatabase(t, enginetest.Start(t))
	require.NoError(t, conn.Exec(t.Context(), "ALTER TABLE streams ADD CONSTRAINT refuse CHECK request_id != 'req-00000013'"))
	cfg := configFor(dsn)
	cfg.DeadLetter.File = filepath.Join(t.TempDir(), "dead.jsonl")
	e := start(t, cfg, storageHost(t, t.TempDir(), nil))

	logs := streamLogs(0, 40, 3, time.Now())
	records := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	records.At(7).Attributes().PutStr("fermata.started_at", "yesterday")
	records.At(8).Attributes().PutEmptyBytes("fermata.chunks.dt").FromRaw([]byte{0x80})
	records.At(9).SetEventName("somebody.else")
	require.NoError(t, e.ConsumeLogs(t.Context(), logs))
	require.NoError(t, e.Shutdown(t.Context()))

	require.EqualValues(t, 36, count(t, conn, "SELECT count() FROM streams"))
	b, err := os.ReadFile(cfg.DeadLetter.File)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	require.Len(t, lines, 4)
	var ids []string
	for _, l := range lines {
		one, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs([]byte(l))
		require.NoError(t, err)
		id, _ := one.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().Get(streamlog.KeyRequestID)
		ids = append(ids, id.Str())
	}
	require.ElementsMatch(t, []string{"req-00000007", "req-00000008", "req-00000009", "req-00000013"}, ids)
	st, err := os.Stat(cfg.DeadLetter.File)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
}

func TestDeadLettersAreBounded(t *testing.T) {
	d := &deadLetters{cfg: DeadLetterConfig{File: filepath.Join(t.TempDir(), "dead"), MaxBytes: 200}}
	logs := plog.NewLogs()
	logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().SetEventName(strings.Repeat("x", 60))
	record := requestOf(t, logs).records[0]
	require.NoError(t, d.put(record))
	require.ErrorIs(t, d.put(record), errDeadLettersFull)
	require.NoError(t, d.close())
	require.ErrorIs(t, d.put(record), errDeadLettersFull, "what is there already counts")
	require.NoError(t, d.close())
}

func TestRefusesASchemaThatDoesNotFit(t *testing.T) {
	eng := enginetest.Start(t)
	cfg := configFor(eng.DSN(eng.NewDatabase(t)))
	e, err := NewFactory().CreateLogs(t.Context(), exportertest.NewNopSettings(Type), cfg)
	require.NoError(t, err)
	err = e.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorIs(t, err, migrations.ErrTooOld)
	require.ErrorContains(t, err, "fermata migrate")
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestClickHouseAway(t *testing.T) {
	eng := enginetest.Start(t)
	dsn, conn := newDatabase(t, eng)
	cfg := configFor(dsn)
	cfg.Queue.Get().StorageID = &storageID
	cfg.Queue.Get().QueueSize = 200_000 // bytes
	e := start(t, cfg, storageHost(t, t.TempDir(), nil))
	require.NoError(t, e.ConsumeLogs(t.Context(), streamLogs(0, 10, 10, time.Now())))
	eventuallyCount(t, conn, 10, "SELECT count() FROM streams")

	pid := eng.PID()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	accepted, at := 10, time.Now()
	var err error
	for err == nil {
		if err = e.ConsumeLogs(t.Context(), streamLogs(accepted, accepted+10, 10, at)); err == nil {
			accepted += 10
		}
	}
	require.ErrorIs(t, err, exporterhelper.ErrQueueIsFull)
	require.False(t, consumererror.IsPermanent(err), "a receiver answers 503")
	require.Greater(t, accepted, 50)

	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	eventuallyCount(t, conn, uint64(accepted), "SELECT uniqExact(request_id) FROM streams")
	require.Eventually(t, func() bool {
		return e.ConsumeLogs(t.Context(), streamLogs(accepted, accepted+1, 10, at)) == nil
	}, patience, 10*time.Millisecond, "the drained queue takes records again")
	eventuallyCount(t, conn, uint64(accepted+1), "SELECT count() FROM streams FINAL")
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestStartsWithoutClickHouse(t *testing.T) {
	eng := enginetest.Start(t)
	dsn, conn := newDatabase(t, eng)
	pid := eng.PID()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	cfg := configFor(dsn)
	cfg.Queue.Get().StorageID = &storageID
	h := storageHost(t, t.TempDir(), nil)
	e := start(t, cfg, h)
	require.NoError(t, e.ConsumeLogs(t.Context(), streamLogs(0, 10, 10, time.Now())))
	eventuallyCount(t, conn, 10, "SELECT count() FROM streams")
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestFullDisk(t *testing.T) {
	eng := enginetest.Start(t)
	dsn, conn := newDatabase(t, eng)
	cfg := configFor(dsn)
	cfg.Queue.Get().StorageID = &storageID
	h := storageHost(t, t.TempDir(), func(c *filestorage.Config) { c.MaxSize = 1 << 20 })
	e := start(t, cfg, h)

	pid := eng.PID()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	var ids []string
	at := time.Now()
	refused := 0
	for i := 0; refused < 20; i++ {
		err := e.ConsumeLogs(t.Context(), streamLogs(i, i+1, 2000, at))
		if err != nil {
			require.False(t, consumererror.IsPermanent(err), "%v", err)
			refused++
			continue
		}
		s := stream(i, 1, at)
		ids = append(ids, s.RequestID)
	}
	require.Greater(t, len(ids), 20)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	require.Eventually(t, func() bool {
		var n uint64
		err := conn.QueryRow(context.Background(), "SELECT uniqExact(request_id) FROM streams WHERE has({ids:Array(String)}, request_id)",
			named("ids", ids)).Scan(&n)
		return err == nil && n == uint64(len(ids))
	}, patience, 20*time.Millisecond, "what was accepted is there")
	require.Eventually(t, func() bool {
		return e.ConsumeLogs(t.Context(), streamLogs(1_000_000, 1_000_001, 10, at)) == nil
	}, patience, 10*time.Millisecond, "there is space again")
	require.NoError(t, e.Shutdown(t.Context()))
}
