package clickhouseexporter

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/plog"
	pdatareq "go.opentelemetry.io/collector/pdata/xpdata/request"
)

func requestOf(t testing.TB, ld plog.Logs) *request {
	t.Helper()
	r, err := newRequest(t.Context(), ld)
	require.NoError(t, err)
	return r.(*request)
}

// Items that the Collector's own queue of logs wrote are read, and it reads ours.
func TestQueueFormatIsTheCollectors(t *testing.T) {
	logs := streamLogs(0, 3, 5, time.Now())
	logs.ResourceLogs().AppendEmpty().Resource().Attributes().PutStr("k", "v") // without records
	streamLogs(3, 5, 5, time.Now()).ResourceLogs().MoveAndAppendTo(logs.ResourceLogs())
	ctx := client.NewContext(t.Context(), client.Info{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}})
	theirs, err := pdatareq.MarshalLogs(ctx, logs)
	require.NoError(t, err)
	_, r, err := encoding{}.Unmarshal(theirs)
	require.NoError(t, err)
	ours := requestOf(t, logs)
	require.Equal(t, 5, r.ItemsCount())
	require.Equal(t, ours.records, r.(*request).records)

	stored, err := encoding{}.Marshal(t.Context(), ours)
	require.NoError(t, err)
	require.Len(t, stored, ours.BytesSize())
	_, back, err := pdatareq.UnmarshalLogs(stored)
	require.NoError(t, err)
	require.Equal(t, logs, back)
}

// What is damaged in the queue is put aside as it is.
func TestDamagedItems(t *testing.T) {
	stored := requestOf(t, streamLogs(0, 2, 5, time.Now())).stored
	plain, err := (&plog.ProtoMarshaler{}).MarshalLogs(streamLogs(0, 1, 5, time.Now()))
	require.NoError(t, err)
	flipped := slices.Clone(stored)
	flipped[5] ^= 1 << 6 // the tag of all that follows
	for _, b := range [][]byte{stored[:len(stored)-1], stored[:5], plain, flipped, []byte("x")} {
		r := readRequest(b)
		require.Equal(t, 1, r.ItemsCount())
		again, err := encoding{}.Marshal(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, b, again)
		reason, err := newRows().add(r.records[0], 100)
		require.Error(t, err)
		require.Equal(t, reasonUnreadable, reason)

		d := &deadLetters{cfg: DeadLetterConfig{File: filepath.Join(t.TempDir(), "dead"), MaxBytes: 1 << 20}}
		require.NoError(t, d.put(r.records[0]))
		require.NoError(t, d.close())
		line, err := os.ReadFile(d.cfg.File)
		require.NoError(t, err)
		logs, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(line)
		require.NoError(t, err)
		require.Equal(t, b, logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Bytes().AsRaw())
	}
	for cut := range len(stored) {
		if r := readRequest(stored[:cut]); cut > 0 {
			require.NotZero(t, r.ItemsCount(), cut)
		}
	}
}

// A call without records is no damage.
func TestEmptyCall(t *testing.T) {
	logs := plog.NewLogs()
	logs.ResourceLogs().AppendEmpty().Resource().Attributes().PutStr("k", "v")
	r := requestOf(t, logs)
	require.Zero(t, r.ItemsCount())
	stored, err := encoding{}.Marshal(t.Context(), r)
	require.NoError(t, err)
	require.Zero(t, readRequest(stored).ItemsCount())
}

func TestRequestsMerge(t *testing.T) {
	at := time.Now()
	of := func(from, to int) *request { return requestOf(t, streamLogs(from, to, 2, at)) }
	merge := func(a, b *request, most int, by exporterhelper.RequestSizerType) []xexporterhelper.Request {
		out, err := a.MergeSplit(t.Context(), most, by, b)
		require.NoError(t, err)
		return out
	}
	items, bytes := exporterhelper.RequestSizerTypeItems, exporterhelper.RequestSizerTypeBytes
	both := merge(of(0, 3), of(3, 5), 5, items)
	require.Len(t, both, 1)
	require.Equal(t, 5, both[0].ItemsCount())
	require.Equal(t, of(0, 3).BytesSize()+of(3, 5).BytesSize(), both[0].BytesSize())
	require.Equal(t, append(of(0, 3).records, of(3, 5).records...), both[0].(*request).records)
	_, err := encoding{}.Marshal(t.Context(), both[0])
	require.ErrorIs(t, err, errMerged)

	a, b := of(0, 2), of(2, 6)
	require.Equal(t, []xexporterhelper.Request{a, b}, merge(a, b, 5, items), "the first result is what was there before: it is answered for on its own")
	require.Len(t, merge(of(0, 2), of(2, 6), 0, items), 1, "no limit")
	require.Len(t, merge(of(0, 2), of(2, 6), 100, bytes), 2)
	alone, err := a.MergeSplit(t.Context(), 1, items, nil)
	require.NoError(t, err)
	require.Equal(t, []xexporterhelper.Request{a}, alone, "one call's records stay together")
}

func FuzzStoredItem(f *testing.F) {
	f.Add(requestOf(f, streamLogs(0, 2, 5, time.Unix(1_760_000_000, 0))).stored)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, r, err := encoding{}.Unmarshal(b)
		require.NoError(t, err)
		if records, err := recordsOf(b); err == nil {
			if _, ld, err := pdatareq.UnmarshalLogs(b); err == nil {
				require.Equal(t, ld.LogRecordCount(), len(records))
			}
		}
		rows := newRows()
		for _, record := range r.(*request).records {
			if reason, err := rows.add(record, 100); err != nil {
				require.Contains(t, []string{reasonUnreadable, reasonUnknown}, reason)
			}
		}
	})
}
