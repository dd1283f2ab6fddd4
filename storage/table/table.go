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
	name string
	cols []column
}

type column struct {
	name    string
	typ     string // ClickHouse type
	field   []int
	offset  uintptr // of the field in the row
	content func(dst []byte, field unsafe.Pointer) []byte
	ranked  bool
	make    func() buffer
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
		typ, mk, err := codec(f.Type, f.Tag.Get("type"))
		if err != nil {
			panic(fmt.Sprintf("table %s: field %s: %v", name, f.Name, err))
		}
		offset := base.FieldByIndex(f.Index).UnsafeAddr() - base.UnsafeAddr()
		t.cols = append(t.cols, column{name: tag, typ: typ, field: f.Index, offset: offset, content: contentOf(f.Type), ranked: f.Tag.Get("rank") != "-", make: mk})
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
	return out
}

// InsertSQL is the INSERT statement that a Batch of the table belongs to.
func (t *Table[R]) InsertSQL() string {
	names := make([]string, len(t.cols))
	for i, c := range t.cols {
		names[i] = "`" + c.name + "`"
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES"
}

// SelectList is the list of expressions whose rows Scan reads.
func (t *Table[R]) SelectList() string {
	out := make([]string, len(t.cols))
	for i, c := range t.cols {
		out[i] = "`" + c.name + "`"
		if c.typ == microsType {
			out[i] = "toUnixTimestamp64Micro(`" + c.name + "`)"
		}
	}
	return strings.Join(out, ", ")
}

// Scanner reads rows that were selected by SelectList.
type Scanner[R any] struct {
	row  R
	dest []any
}

// NewScanner makes a scanner. It is not for concurrent use.
func (t *Table[R]) NewScanner() *Scanner[R] {
	s := &Scanner[R]{}
	v := reflect.ValueOf(&s.row).Elem()
	for _, c := range t.cols {
		f := v.FieldByIndex(c.field).Addr()
		if m, ok := f.Interface().(*Micros); ok {
			s.dest = append(s.dest, (*int64)(m))
			continue
		}
		s.dest = append(s.dest, f.Interface())
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
	return s.row, nil
}
