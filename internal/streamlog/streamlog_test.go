package streamlog

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
)

// fill sets every field of a record to a value that is not zero, so that a field without a key is found.
func fill(t testing.TB, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("s" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 9))
	case reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(*n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"n":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(t, v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("no filler for %s", v.Kind())
	}
}

func TestEveryFieldSurvives(t *testing.T) {
	n := 0
	var s wire.Stream
	fill(t, reflect.ValueOf(&s).Elem(), &n)
	lr := plog.NewLogRecord()
	PutStream(lr, &s)
	gotS, err := Stream(lr, 100)
	if err != nil || cmp.Diff(s, gotS) != "" {
		t.Fatalf("stream: %v\n%s", err, cmp.Diff(s, gotS))
	}

	var g wire.Gateway
	fill(t, reflect.ValueOf(&g).Elem(), &n)
	lr = plog.NewLogRecord()
	PutGateway(lr, &g)
	gotG, err := Gateway(lr, 100)
	if err != nil || cmp.Diff(g, gotG) != "" {
		t.Fatalf("gateway: %v\n%s", err, cmp.Diff(g, gotG))
	}

	var c wire.Client
	fill(t, reflect.ValueOf(&c).Elem(), &n)
	lr = plog.NewLogRecord()
	PutClient(lr, &c)
	gotC, err := Client(lr, 100)
	if err != nil || cmp.Diff(c, gotC) != "" {
		t.Fatalf("client: %v\n%s", err, cmp.Diff(c, gotC))
	}
}

func TestEveryFieldOfAFindingSurvives(t *testing.T) {
	n := 0
	var f wire.Finding
	fill(t, reflect.ValueOf(&f).Elem(), &n)
	lr := plog.NewLogRecord()
	PutFinding(lr, &f)
	got, err := Finding(lr)
	if err != nil || cmp.Diff(f, got) != "" {
		t.Fatalf("finding: %v\n%s", err, cmp.Diff(f, got))
	}
}

func TestPackedArraysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOf(rapid.Int64Range(0, 1<<40)).Draw(t, "gaps")
		var ts []int64
		sum := int64(0)
		for _, g := range gaps {
			sum += g
			ts = append(ts, sum)
		}
		got, err := UnpackOffsets(nil, PackOffsets(nil, ts), len(ts))
		if err != nil || cmp.Diff(ts, got) != "" {
			t.Fatalf("offsets: %v %s", err, cmp.Diff(ts, got))
		}
		u := rapid.SliceOf(rapid.Uint32()).Draw(t, "uints")
		gotU, err := UnpackUints(nil, PackUints(nil, u), len(u))
		if err != nil || len(u) != len(gotU) || (len(u) > 0 && cmp.Diff(u, gotU) != "") {
			t.Fatalf("uints: %v", err)
		}
		k := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 8), func(i int) wire.Kind { return wire.Kind(i) })).Draw(t, "kinds")
		gotK, err := UnpackKinds(nil, PackKinds(nil, k), len(k))
		if err != nil || len(k) != len(gotK) || (len(k) > 0 && cmp.Diff(k, gotK) != "") {
			t.Fatalf("kinds: %v", err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint16(10))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, uint16(3))
	f.Fuzz(func(t *testing.T, b []byte, most uint16) {
		if v, err := UnpackOffsets(nil, b, int(most)); err == nil && len(v) > int(most) {
			t.Fatal("too many offsets")
		}
		if v, err := UnpackUints(nil, b, int(most)); err == nil && len(v) > int(most) {
			t.Fatal("too many uints")
		}
		if v, err := UnpackKinds(nil, b, int(most)); err == nil && len(v) > int(most) {
			t.Fatal("too many kinds")
		}
		if v, err := UnpackChoices(nil, b, int(most)); err == nil && len(v) > int(most) {
			t.Fatal("too many choices")
		}
	})
}

func TestPackedArraysThatEndInsideAValue(t *testing.T) {
	for _, b := range [][]byte{{0x80}, {1, 0x80}, {0xff, 0xff}} {
		if _, err := UnpackOffsets(nil, b, 10); !errors.Is(err, ErrTruncated) {
			t.Errorf("offsets %x: %v", b, err)
		}
		if _, err := UnpackUints(nil, b, 10); !errors.Is(err, ErrTruncated) {
			t.Errorf("uints %x: %v", b, err)
		}
	}
}
