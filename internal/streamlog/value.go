package streamlog

import (
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/fermata-io/fermata/internal/otlpwire"
)

// Strings says whether a record that is read from a request's bytes shares its strings with them.
type Strings bool

// The two ways to read strings.
const (
	Copied Strings = false // the record outlives the bytes
	Shared Strings = true  // the bytes outlive the record
)

// value is one attribute's, of pdata or of a request's bytes.
type value struct {
	typ   pcommon.ValueType
	num   uint64 // bool, int, double
	str   string
	bytes []byte
	slice pcommon.Slice  // of pdata
	array otlpwire.Value // of bytes
	share Strings
}

// pdata makes v what p holds. Only what its type needs is set: this runs for each attribute of each record.
func (v *value) pdata(p pcommon.Value) {
	switch v.typ = p.Type(); v.typ {
	case pcommon.ValueTypeStr:
		v.str = p.Str()
	case pcommon.ValueTypeInt:
		v.num = uint64(p.Int()) //nolint:gosec // bits only
	case pcommon.ValueTypeDouble:
		v.num = math.Float64bits(p.Double())
	case pcommon.ValueTypeBool:
		v.num = 0
		if p.Bool() {
			v.num = 1
		}
	case pcommon.ValueTypeBytes:
		v.bytes = p.Bytes().AsRaw()
	case pcommon.ValueTypeSlice:
		v.slice, v.array = p.Slice(), otlpwire.Value{}
	case pcommon.ValueTypeEmpty, pcommon.ValueTypeMap:
	}
}

// wire does what pdata does.
func (v *value) wire(w otlpwire.Value, share Strings) {
	v.share = share
	switch w.Type {
	case otlpwire.String:
		v.typ = pcommon.ValueTypeStr
		if v.str = w.View(); share == Copied {
			v.str = strings.Clone(v.str)
		}
	case otlpwire.Int:
		v.typ, v.num = pcommon.ValueTypeInt, w.Bits()
	case otlpwire.Double:
		v.typ, v.num = pcommon.ValueTypeDouble, w.Bits()
	case otlpwire.Bool:
		v.typ, v.num = pcommon.ValueTypeBool, w.Bits()
	case otlpwire.Bytes:
		v.typ, v.bytes = pcommon.ValueTypeBytes, w.Raw()
	case otlpwire.Array:
		v.typ, v.array = pcommon.ValueTypeSlice, w
	case otlpwire.KVList:
		v.typ = pcommon.ValueTypeMap
	case otlpwire.Empty:
		v.typ = pcommon.ValueTypeEmpty
	}
}

func (v *value) want(typ pcommon.ValueType) error {
	if v.typ != typ {
		return fmt.Errorf("is a %s; want %s", v.typ, typ)
	}
	return nil
}

func (v *value) int() int64      { return int64(v.num) } //nolint:gosec // bits only
func (v *value) double() float64 { return math.Float64frombits(v.num) }
func (v *value) bool() bool      { return v.num != 0 }

// len counts the elements of a slice.
func (v *value) len() int {
	if !v.array.IsZero() {
		return v.array.Len()
	}
	return v.slice.Len()
}

// each calls f for the elements of a slice until it returns an error.
func (v *value) each(f func(i int, x *value) error) (err error) {
	var x value
	if v.array.IsZero() {
		for i, e := range v.slice.All() {
			x.pdata(e)
			if err := f(i, &x); err != nil {
				return err
			}
		}
		return nil
	}
	malformed := v.array.Elements(func(i int, e otlpwire.Value) bool {
		x.wire(e, v.share)
		err = f(i, &x)
		return err == nil
	})
	if err == nil {
		err = malformed
	}
	return err
}
