package loosejson

import (
	"encoding/json"
	"testing"

	"github.com/fermata-io/fermata/internal/wire"
)

func TestOddFormsCostNothing(t *testing.T) {
	var v struct {
		A, B, C Str
		D, E    Bool
		F, G, H Number
		I       Headers
		J       Headers
		K       Object[struct{ X Number }]
		L       Object[struct{ X Number }]
	}
	in := `{"A":"x","B":7,"C":{"y":1},"D":"True","E":null,"F":"1.5","G":[],"H":-1,"I":{"X-A":"b"},"J":"none","K":{"X":3},"L":[1]}`
	if err := json.Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	if v.A != "x" || v.B != "7" || v.C != "" || !v.D.V || v.E.Known || v.F.V != 1.5 || v.G.Known || v.I.Get("x-a") != "b" || v.J != nil || v.K.V.X.V != 3 || v.L.V.X.Known {
		t.Fatalf("%+v", v)
	}
	if v.F.Micros(1000) != wire.Some(int64(1500)) || v.H.Micros(1).OK || v.H.Count().OK {
		t.Fatal("units")
	}
	if TraceID("00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") != "4bf92f3577b34da6a3ce929d0e0e4736" || TraceID("00-00000000000000000000000000000000-00f067aa0ba902b7-01") != "" || TraceID("x") != "" {
		t.Fatal("traceparent")
	}
	if BareID("chatcmpl-a") != "a" || BareID("a") != "" {
		t.Fatal("ids")
	}
}
