package table

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
)

// Columns that hold the fields that have none of their own.
const (
	labelsColumn  = "labels"  // LowCardinality(String): a JSON object of label fields, and where the row's numbers are
	numbersColumn = "numbers" // Array(UInt32): the number fields of the row, one after the other
	detailColumn  = "detail"  // String: a JSON object of what neither of them takes
	positionsKey  = "at"      // in labels: position in numbers, from 1, of each number that the row has
)

// pack is how a table stores fields without columns of their own. What many rows have in common, words and which numbers
// there are, is one value of a LowCardinality column; the numbers are one array. A column costs the server the same
// whatever it holds, and most rows have most fields not at all.
type pack struct {
	labels  []packed
	numbers []numberField
	objects []*object
}

// object is a String column that holds fields as one JSON object: only those that say something, in the order of the
// struct, without spaces. A row in which none does has the empty string.
type object struct {
	name   string
	fields []packed
}

type packed struct {
	name   string
	typ    string // ClickHouse type of the value
	key    string // `"name":`
	offset uintptr
	put    func(dst []byte, field unsafe.Pointer) []byte // appends the value; nothing when it says nothing
	get    func(r *reader, field unsafe.Pointer)
}

// numberField is a field whose values go to numbers where they fit 32 bits, else to detail. A value equal to the one before
// it in the row shares its place: what follows from another number, as a first answer chunk from the first chunk, costs
// nothing.
type numberField struct {
	packed
	load func(field unsafe.Pointer) (v uint64, known bool) // nil: a list
	set  func(field unsafe.Pointer, v uint32)
}

// add makes a field part of the pack; kind is its tag's.
func (p *pack) add(kind, name string, t reflect.Type, offset uintptr) error {
	f, err := packedField(name, t, offset)
	if err != nil {
		return err
	}
	switch kind {
	case "label":
		p.labels = append(p.labels, f)
		return nil
	case "number":
		n := numberField{packed: f}
		switch reflect.New(t).Interface().(type) {
		case *uint32:
			n.load, n.set = loadNumber[uint32], setNumber[uint32]
		case *uint64:
			n.load, n.set = loadNumber[uint64], setNumber[uint64]
		case *int64:
			n.load, n.set = loadNumber[int64], setNumber[int64]
		case *Opt[uint32]:
			n.load, n.set = loadOpt[uint32], setOpt[uint32]
		case *Opt[uint64]:
			n.load, n.set = loadOpt[uint64], setOpt[uint64]
		case *Opt[int64]:
			n.load, n.set = loadOpt[int64], setOpt[int64]
		case *[]*int64:
		default:
			return fmt.Errorf("%s is no number", t)
		}
		p.numbers = append(p.numbers, n)
		p.object(detailColumn)
		return nil
	}
	o := p.object(kind)
	o.fields = append(o.fields, f)
	return nil
}

func (p *pack) object(name string) *object {
	for _, o := range p.objects {
		if o.name == name {
			return o
		}
	}
	o := &object{name: name}
	p.objects = append(p.objects, o)
	return o
}

// columns lists what the pack needs of the table, in the order in which packer has its buffers.
func (p *pack) columns() []Column {
	var out []Column
	if len(p.labels)+len(p.numbers) > 0 {
		out = append(out, Column{labelsColumn, "LowCardinality(String)"}, Column{numbersColumn, "Array(UInt32)"})
	}
	for _, o := range p.objects {
		out = append(out, Column{o.name, "String"})
	}
	return out
}

// maxShapes bounds the label values that a packer remembers.
const maxShapes = 10_000

// packer fills the columns of a pack.
type packer struct {
	*pack
	labelsCol  *proto.ColLowCardinality[string]
	numbersCol *proto.ColArr[uint32]
	data       *proto.ColUInt32
	objectCols []*proto.ColStr
	shapes     map[string]string // value of labels by what it says
	sign       []byte            // of the row
	start      int               // of its numbers
	spilled    []bool            // which of them did not fit
}

func (p *pack) packer() *packer {
	k := &packer{
		pack: p, labelsCol: new(proto.ColStr).LowCardinality(), data: new(proto.ColUInt32),
		shapes: map[string]string{}, spilled: make([]bool, len(p.numbers)),
	}
	k.numbersCol = proto.NewArray[uint32](k.data)
	for range p.objects {
		k.objectCols = append(k.objectCols, new(proto.ColStr))
	}
	return k
}

func (k *packer) buffers() []resettable {
	var out []resettable
	if len(k.labels)+len(k.numbers) > 0 {
		out = append(out, k.labelsCol, k.numbersCol)
	}
	for _, c := range k.objectCols {
		out = append(out, c)
	}
	return out
}

func (k *packer) add(row unsafe.Pointer) {
	sign := k.sign[:0]
	for i := range k.labels {
		f := &k.labels[i]
		sign = append(f.put(sign, unsafe.Add(row, f.offset)), 0)
	}
	k.start = len(*k.data)
	for i := range k.numbers {
		sign = k.addNumber(sign, i, row)
	}
	k.sign = sign
	labels, ok := k.shapes[string(sign)]
	if !ok {
		if len(k.shapes) == maxShapes {
			clear(k.shapes)
		}
		labels = string(k.shape(row))
		k.shapes[string(sign)] = labels
	}
	k.labelsCol.Append(labels)
	k.numbersCol.Offsets = append(k.numbersCol.Offsets, uint64(k.data.Rows())) //nolint:gosec // a count
	for i, o := range k.objects {
		k.addObject(k.objectCols[i], o, row)
	}
}

// What packer's signature says of a number.
const (
	signAbsent = iota
	signHere
	signShared // with the number before
	signSpilled
	signEnd // of a list
)

func (k *packer) addNumber(sign []byte, i int, row unsafe.Pointer) []byte {
	n := &k.numbers[i]
	field := unsafe.Add(row, n.offset)
	k.spilled[i] = false
	if n.load != nil {
		v, known := n.load(field)
		switch {
		case !known:
			return append(sign, signAbsent)
		case v > math.MaxUint32:
			k.spilled[i] = true
			return append(sign, signSpilled)
		}
		return append(sign, k.place(uint32(v)))
	}
	list := *at[[]*int64](field)
	for _, v := range list {
		if v != nil && (*v < 0 || *v > math.MaxUint32) {
			k.spilled[i] = true
			return append(sign, signSpilled)
		}
	}
	for _, v := range list {
		if v == nil {
			sign = append(sign, signAbsent)
			continue
		}
		sign = append(sign, k.place(uint32(*v))) //nolint:gosec // fits, as seen above
	}
	return append(sign, signEnd)
}

// place puts a value into numbers, unless the row's last one is equal.
func (k *packer) place(v uint32) byte {
	if n := len(*k.data); n > k.start && (*k.data)[n-1] == v {
		return signShared
	}
	*k.data = append(*k.data, v)
	return signHere
}

// shape makes the value of labels for the row that was just added to numbers.
func (k *packer) shape(row unsafe.Pointer) []byte {
	dst := []byte{'{'}
	for i := range k.labels {
		dst = k.labels[i].member(dst, row)
	}
	if len(k.numbers) == 0 {
		return append(dst, '}')
	}
	dst = append(comma(dst), `"`+positionsKey+`":{`...)
	numbers, at := (*k.data)[k.start:], 0
	position := func(v uint64) uint64 {
		if at == 0 || uint64(numbers[at-1]) != v {
			at++
		}
		return uint64(at) //nolint:gosec // a count
	}
	for i := range k.numbers {
		n := &k.numbers[i]
		if k.spilled[i] {
			continue
		}
		field := unsafe.Add(row, n.offset)
		if n.load != nil {
			if v, known := n.load(field); known {
				dst = putInt(append(comma(dst), n.key...), position(v))
			}
			continue
		}
		list := *atList(field)
		if len(list) == 0 {
			continue
		}
		dst = append(append(comma(dst), n.key...), '[')
		for _, v := range list {
			place := uint64(0)
			if v != nil {
				place = position(uint64(*v)) //nolint:gosec // not negative
			}
			dst = putInt(comma(dst), place)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}', '}')
}

func atList(field unsafe.Pointer) *[]*int64 { return at[[]*int64](field) }

func (k *packer) addObject(col *proto.ColStr, o *object, row unsafe.Pointer) {
	dst, start := col.Buf, len(col.Buf)
	dst = append(dst, '{')
	for i := range o.fields {
		dst = o.fields[i].member(dst, row)
	}
	if o.name == detailColumn {
		for i, spilled := range k.spilled {
			if spilled {
				dst = k.numbers[i].member(dst, row)
			}
		}
	}
	if len(dst) == start+1 {
		dst = dst[:start]
	} else {
		dst = append(dst, '}')
	}
	col.Buf = dst
	col.Pos = append(col.Pos, proto.Position{Start: start, End: len(dst)})
}

// member appends the field of a row to an object that is not closed yet; nothing when it says nothing.
func (f *packed) member(dst []byte, row unsafe.Pointer) []byte {
	before := len(dst)
	dst = append(comma(dst), f.key...)
	value := len(dst)
	if dst = f.put(dst, unsafe.Add(row, f.offset)); len(dst) == value {
		return dst[:before]
	}
	return dst
}

// comma appends one unless dst has just opened an object or a list.
func comma(dst []byte) []byte {
	if c := dst[len(dst)-1]; c == '{' || c == '[' {
		return dst
	}
	return append(dst, ',')
}

// read fills the packed fields of a row, which are zero before, from the columns of the pack.
func (p *pack) read(labels string, numbers []uint32, objects []string, row unsafe.Pointer) error {
	if labels != "" {
		r := reader{s: labels}
		labelFields := fieldsOf(p.labels, row)
		r.object(func(key string) {
			if key == positionsKey {
				p.readNumbers(&r, numbers, row)
				return
			}
			labelFields(&r, key)
		})
		if !r.done() {
			return fmt.Errorf("column %s: not what Batch writes, near byte %d", labelsColumn, r.i)
		}
	}
	for i, doc := range objects {
		if doc == "" {
			continue
		}
		o, r := p.objects[i], reader{s: doc}
		fields := fieldsOf(o.fields, row)
		r.object(func(key string) {
			if o.name == detailColumn {
				if n := slices.IndexFunc(p.numbers, func(n numberField) bool { return n.name == key }); n >= 0 {
					p.numbers[n].get(&r, unsafe.Add(row, p.numbers[n].offset))
					return
				}
			}
			fields(&r, key)
		})
		if !r.done() {
			return fmt.Errorf("column %s: not what Batch writes, near byte %d", o.name, r.i)
		}
	}
	return nil
}

// fieldsOf returns what reads a member's value into its field. Members come in the order of the fields.
func fieldsOf(fields []packed, row unsafe.Pointer) func(r *reader, key string) {
	next := 0
	return func(r *reader, key string) {
		for n := range fields {
			i := (next + n) % len(fields)
			if fields[i].name == key {
				next = i + 1
				fields[i].get(r, unsafe.Add(row, fields[i].offset))
				return
			}
		}
		r.skip() // a field that this version does not know
	}
}

func (p *pack) readNumbers(r *reader, numbers []uint32, row unsafe.Pointer) {
	value := func() (uint32, bool) {
		_, i := r.integer()
		if i > uint64(len(numbers)) {
			r.bad = true
		}
		if r.bad || i == 0 {
			return 0, false
		}
		return numbers[i-1], true
	}
	next := 0
	r.object(func(key string) {
		for n := range p.numbers {
			i := (next + n) % len(p.numbers)
			f := &p.numbers[i]
			if f.name != key {
				continue
			}
			next = i + 1
			field := unsafe.Add(row, f.offset)
			if f.load != nil {
				if v, ok := value(); ok {
					f.set(field, v)
				}
				return
			}
			var list []*int64
			r.list(func() {
				var p *int64
				if v, ok := value(); ok {
					n := int64(v)
					p = &n
				}
				list = append(list, p)
			})
			*atList(field) = list
			return
		}
		r.skip()
	})
}

func loadNumber[T integer](field unsafe.Pointer) (uint64, bool) {
	v := *at[T](field)
	return uint64(v), v != 0
}

func setNumber[T integer](field unsafe.Pointer, v uint32) { *at[T](field) = T(v) }

func loadOpt[T uint32 | uint64 | int64](field unsafe.Pointer) (uint64, bool) {
	o := at[Opt[T]](field)
	return uint64(o.V), o.OK
}

func setOpt[T uint32 | uint64 | int64](field unsafe.Pointer, v uint32) {
	*at[Opt[T]](field) = Some(T(v))
}

// Alias is a column that a table computes from packed ones.
type Alias struct{ Name, Type, Expression string }

// Aliases lists the packed fields as the columns that the table has to compute, so that SQL finds them by name.
func (t *Table[R]) Aliases() []Alias {
	var out []Alias
	for _, f := range t.pack.labels {
		a := Alias{f.name, f.typ, fmt.Sprintf("JSONExtract(%s, '%s', '%s')", labelsColumn, f.name, f.typ)}
		if f.typ == "String" {
			a = Alias{f.name, "LowCardinality(String)", fmt.Sprintf("JSONExtractString(%s, '%s')", labelsColumn, f.name)}
		}
		out = append(out, a)
	}
	for _, n := range t.pack.numbers {
		position := fmt.Sprintf("JSONExtractUInt(%s, '%s', '%s')", labelsColumn, positionsKey, n.name)
		spilled := fmt.Sprintf("JSONExtract(%s, '%s', '%s')", detailColumn, n.name, n.typ)
		e := fmt.Sprintf("if(%s = 0, %s, %s[%[1]s])", position, spilled, numbersColumn)
		if n.load == nil {
			positions := fmt.Sprintf("JSONExtract(%s, '%s', '%s', 'Array(UInt32)')", labelsColumn, positionsKey, n.name)
			e = fmt.Sprintf("if(empty(%s), %s, arrayMap(i -> if(i = 0, NULL, %s[i]), %[1]s))", positions, spilled, numbersColumn)
		}
		out = append(out, Alias{n.name, n.typ, e})
	}
	for _, o := range t.pack.objects {
		for _, f := range o.fields {
			e := fmt.Sprintf("JSONExtract(%s, '%s', '%s')", o.name, f.name, f.typ)
			if f.typ == "Array(Float32)" { // JSON has no NaN
				e = fmt.Sprintf("arrayMap(x -> ifNull(x, nan), JSONExtract(%s, '%s', 'Array(Nullable(Float32))'))", o.name, f.name)
			}
			out = append(out, Alias{f.name, f.typ, e})
		}
	}
	return out
}

// packedField chooses how a field is written and read as JSON. Types are those of codec.
func packedField(name string, t reflect.Type, offset uintptr) (packed, error) {
	f := packed{name: name, key: `"` + name + `":`, offset: offset}
	if strings.ContainsAny(name, `"'\`) || name == positionsKey {
		return f, fmt.Errorf("%q can't be a packed column's name", name)
	}
	switch reflect.New(t).Interface().(type) {
	case *string:
		f.typ, f.put, f.get = "String", putText, func(r *reader, p unsafe.Pointer) { *at[string](p) = r.str() }
	case *bool:
		f.typ, f.put, f.get = "Bool", putTrue, func(r *reader, p unsafe.Pointer) { *at[bool](p) = r.boolean() }
	case *uint16:
		f.typ, f.put, f.get = "UInt16", putNumber[uint16], getNumber[uint16]
	case *uint32:
		f.typ, f.put, f.get = "UInt32", putNumber[uint32], getNumber[uint32]
	case *uint64:
		f.typ, f.put, f.get = "UInt64", putNumber[uint64], getNumber[uint64]
	case *int32:
		f.typ, f.put, f.get = "Int32", putNumber[int32], getNumber[int32]
	case *int64:
		f.typ, f.put, f.get = "Int64", putNumber[int64], getNumber[int64]
	case *Opt[uint32]:
		f.typ, f.put, f.get = "Nullable(UInt32)", putOpt[uint32], getOpt[uint32]
	case *Opt[uint64]:
		f.typ, f.put, f.get = "Nullable(UInt64)", putOpt[uint64], getOpt[uint64]
	case *Opt[int64]:
		f.typ, f.put, f.get = "Nullable(Int64)", putOpt[int64], getOpt[int64]
	case *[]bool:
		f.typ, f.put, f.get = "Array(Bool)", putList(putBool), getList((*reader).boolean)
	case *[]uint16:
		f.typ, f.put, f.get = "Array(UInt16)", putList(putInt[uint16]), getList(getInt[uint16])
	case *[]uint32:
		f.typ, f.put, f.get = "Array(UInt32)", putList(putInt[uint32]), getList(getInt[uint32])
	case *[]uint64:
		f.typ, f.put, f.get = "Array(UInt64)", putList(putInt[uint64]), getList(getInt[uint64])
	case *[]int32:
		f.typ, f.put, f.get = "Array(Int32)", putList(putInt[int32]), getList(getInt[int32])
	case *[]float32:
		f.typ, f.put, f.get = "Array(Float32)", putList(putFloat), getList((*reader).float)
	case *[]string:
		f.typ, f.put, f.get = "Array(String)", putList(putString), getList((*reader).str)
	case *[]*int64:
		f.typ, f.put, f.get = "Array(Nullable(Int64))", putList(putPointer), getList((*reader).pointer)
	default:
		return f, fmt.Errorf("%s can't be packed", t)
	}
	return f, nil
}
