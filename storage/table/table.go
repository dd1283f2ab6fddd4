package table

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Table describes the table that rows of type R belong to.
type Table[R any] struct {
	name  string
	cols  []column // of one field each
	pack  pack     // the fields without one
	parts []part   // what AppendContent encodes
}

type column struct {
	name   string
	typ    string // ClickHouse type
	field  []int
	offset uintptr // of the field in the row
	make   func() buffer
}

type part struct {
	offset  uintptr
	content func(dst []byte, field unsafe.Pointer) []byte
}

// Of describes the table called name. It panics when R has a field that can't be a column, which the first
// test of any kind finds.
func Of[R any](name string) *Table[R] {
	t := &Table[R]{name: name}
	var zero R
	base := reflect.ValueOf(&zero).Elem()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		tag, ok := f.Tag.Lookup("ch")
		if !ok || tag == "-" {
			continue
		}
		offset := base.FieldByIndex(f.Index).UnsafeAddr() - base.UnsafeAddr()
		tag, kind, isPacked := strings.Cut(tag, ",")
		var err error
		if isPacked {
			err = t.pack.add(kind, tag, f.Type, offset)
		} else {
			c := column{name: tag, field: f.Index, offset: offset}
			c.typ, c.make, err = codec(f.Type, f.Tag.Get("type"))
			t.cols = append(t.cols, c)
		}
		if err != nil {
			panic(fmt.Sprintf("table %s: field %s: %v", name, f.Name, err))
		}
		if f.Tag.Get("rank") != "-" {
			t.parts = append(t.parts, part{offset: offset, content: contentOf(f.Type)})
		}
	}
	return t
}

// Name returns the table's name, without a database.
func (t *Table[R]) Name() string { return t.name }

// Column is a column's name and its ClickHouse type.
type Column struct{ Name, Type string }

// Columns lists the columns in the order of the struct.
func (t *Table[R]) Columns() []Column {
	out := make([]Column, len(t.cols))
	for i, c := range t.cols {
		out[i] = Column{Name: c.name, Type: c.typ}
	}
	return append(out, t.pack.columns()...)
}

// InsertSQL is the INSERT statement that a Batch of the table belongs to.
func (t *Table[R]) InsertSQL() string {
	var names []string
	for _, c := range t.Columns() {
		names = append(names, "`"+c.Name+"`")
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES"
}

// SelectList is the list of expressions whose rows Scan reads.
func (t *Table[R]) SelectList() string {
	var out []string
	for _, c := range t.Columns() {
		e := "`" + c.Name + "`"
		if c.Type == microsType {
			e = "toUnixTimestamp64Micro(" + e + ")"
		}
		out = append(out, e)
	}
	return strings.Join(out, ", ")
}

// Scanner reads rows that were selected by SelectList.
type Scanner[R any] struct {
	row     R
	pack    *pack
	labels  string
	numbers []uint32
	objects []string
	dest    []any
}

// NewScanner makes a scanner. It is not for concurrent use.
func (t *Table[R]) NewScanner() *Scanner[R] {
	s := &Scanner[R]{pack: &t.pack, objects: make([]string, len(t.pack.objects))}
	v := reflect.ValueOf(&s.row).Elem()
	for _, c := range t.cols {
		f := v.FieldByIndex(c.field).Addr()
		if m, ok := f.Interface().(*Micros); ok {
			s.dest = append(s.dest, (*int64)(m))
			continue
		}
		s.dest = append(s.dest, f.Interface())
	}
	if len(t.pack.labels)+len(t.pack.numbers) > 0 {
		s.dest = append(s.dest, &s.labels, &s.numbers)
	}
	for i := range s.objects {
		s.dest = append(s.dest, &s.objects[i])
	}
	return s
}

// Scan reads the current row.
func (s *Scanner[R]) Scan(rows driver.Rows) (R, error) {
	var zero R
	s.row = zero
	if err := rows.Scan(s.dest...); err != nil {
		return zero, err
	}
	if err := s.pack.read(s.labels, s.numbers, s.objects, unsafe.Pointer(&s.row)); err != nil { //nolint:gosec // offsets are those of R, see Of
		return zero, err
	}
	return s.row, nil
}
