package streamlog

import (
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/fermata-io/fermata/internal/otlpwire"
)

// Strings says whether a record that is read from a request's bytes shares its strings with them.
type Strings bool

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

func ofPdata(v pcommon.Value) value {
	x := value{typ: v.Type()}
	switch x.typ {
	case pcommon.ValueTypeStr:
		x.str = v.Str()
	case pcommon.ValueTypeInt:
		x.num = uint64(v.Int()) //nolint:gosec // bits only
	case pcommon.ValueTypeDouble:
		x.num = math.Float64bits(v.Double())
	case pcommon.ValueTypeBool:
		if v.Bool() {
			x.num = 1
		}
	case pcommon.ValueTypeBytes:
		x.bytes = v.Bytes().AsRaw()
	case pcommon.ValueTypeSlice:
		x.slice = v.Slice()
	case pcommon.ValueTypeEmpty, pcommon.ValueTypeMap:
	}
	return x
}

func ofWire(v otlpwire.Value, share Strings) value {
	x := value{share: share}
	switch v.Type {
	case otlpwire.String:
		x.typ = pcommon.ValueTypeStr
		if x.str = v.View(); share == Copied {
			x.str = v.Str()
		}
	case otlpwire.Int:
		x.typ, x.num = pcommon.ValueTypeInt, v.Bits()
	case otlpwire.Double:
		x.typ, x.num = pcommon.ValueTypeDouble, v.Bits()
	case otlpwire.Bool:
		x.typ, x.num = pcommon.ValueTypeBool, v.Bits()
	case otlpwire.Bytes:
		x.typ, x.bytes = pcommon.ValueTypeBytes, v.Raw()
	case otlpwire.Array:
		x.typ, x.array = pcommon.ValueTypeSlice, v
	case otlpwire.KVList:
		x.typ = pcommon.ValueTypeMap
	case otlpwire.Empty:
	}
	return x
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
	if v.array.IsZero() {
		for i, e := range v.slice.All() {
			x := ofPdata(e)
			if err := f(i, &x); err != nil {
				return err
			}
		}
		return nil
	}
	malformed := v.array.Elements(func(i int, e otlpwire.Value) bool {
		x := ofWire(e, v.share)
		err = f(i, &x)
		return err == nil
	})
	if err == nil {
		err = malformed
	}
	return err
}
