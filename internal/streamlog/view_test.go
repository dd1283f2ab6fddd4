package streamlog

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/wire"
)

// viewed is what pdata and View read of one record.
type viewed struct {
	pdata, view any
	errs        [2]error
}

// read reads the records of a request both ways.
func read(t require.TestingT, b []byte, most int, share Strings) (out []viewed) {
	ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
	if err != nil {
		return nil
	}
	var all []plog.LogRecord
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, lr := range sl.LogRecords().All() {
				all = append(all, lr)
			}
		}
	}
	err = otlpwire.LogRecords(b, nil, func(_ *otlpwire.Source, lr *otlpwire.LogRecord) error {
		one, v, r := all[len(out)], View{Attrs: lr.Attrs, Most: most, Strings: share}, viewed{}
		require.Equal(t, one.EventName(), lr.EventName)
		switch one.EventName() {
		case EventStream:
			var s wire.Stream
			r.errs[1] = v.Stream(&s)
			r.view = s
			r.pdata, r.errs[0] = Stream(one, most)
		case EventGateway:
			r.view, r.errs[1] = v.Gateway()
			r.pdata, r.errs[0] = Gateway(one, most)
		case EventClient:
			r.view, r.errs[1] = v.Client()
			r.pdata, r.errs[0] = Client(one, most)
		case EventFinding:
			r.view, r.errs[1] = v.Finding()
			r.pdata, r.errs[0] = Finding(one)
		}
		out = append(out, r)
		return nil
	})
	if err == nil {
		require.Len(t, out, len(all))
	}
	return out
}

// whole is a request with a record of each kind that has every field.
func whole(t testing.TB) []byte {
	t.Helper()
	n := 0
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	var s wire.Stream
	var g wire.Gateway
	var c wire.Client
	var f wire.Finding
	for _, r := range []any{&s, &g, &c, &f} {
		fill(t, reflect.ValueOf(r).Elem(), &n)
	}
	PutStream(lrs.AppendEmpty(), &s)
	PutGateway(lrs.AppendEmpty(), &g)
	PutClient(lrs.AppendEmpty(), &c)
	PutFinding(lrs.AppendEmpty(), &f)
	ints := lrs.AppendEmpty()
	PutStream(ints, &wire.Stream{RequestID: "r"})
	list := ints.Attributes().PutEmptySlice(KeyOffsets)
	list.AppendEmpty().SetInt(7)
	list.AppendEmpty().SetInt(9)
	kinds := ints.Attributes().PutEmptySlice("fermata.chunks.kind")
	kinds.AppendEmpty().SetStr("role")
	kinds.AppendEmpty().SetStr("done")
	wrong := lrs.AppendEmpty()
	PutStream(wrong, &wire.Stream{RequestID: "r"})
	wrong.Attributes().PutStr("fermata.attempt", "first")
	b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)
	return b
}

func TestViewsReadWhatPdataReads(t *testing.T) {
	for i, r := range read(t, whole(t), 100, Shared) {
		require.Equal(t, r.errs[0], r.errs[1])
		require.Empty(t, cmp.Diff(r.pdata, r.view), "record %d", i)
	}
}

// Receivers use a request's bytes again for the next one.
func TestCopiedViewsOutliveTheBytes(t *testing.T) {
	b := whole(t)
	all := read(t, b, 100, Copied)
	for i := range b {
		b[i] = 'x'
	}
	for i, r := range all {
		require.Empty(t, cmp.Diff(r.pdata, r.view), "record %d", i)
	}
}

func FuzzView(f *testing.F) {
	f.Add(whole(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range read(t, b, 50, Shared) {
			// Views refuse or leave out what is damaged inside an attribute, and make strings UTF-8.
			if r.errs[0] != nil || r.errs[1] != nil {
				continue
			}
			require.Empty(t, cmp.Diff(r.pdata, r.view, cmpopts.EquateNaNs(),
				cmp.Comparer(sameText[string]), cmp.Comparer(sameText[wire.Tier]), cmp.Comparer(sameText[wire.FindingKind]),
				cmp.Comparer(func(a, b json.RawMessage) bool { return sameText(string(a), string(b)) })))
		}
	})
}

// sameText compares strings but for how many marks stand for bytes that are not UTF-8.
func sameText[S ~string](a, b S) bool {
	marked := func(s S) string {
		return strings.ToValidUTF8(strings.ReplaceAll(string(s), "\uFFFD", "\xff"), "\uFFFD")
	}
	return marked(a) == marked(b)
}
