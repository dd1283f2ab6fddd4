package table

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/stretchr/testify/require"
)

type packedRow struct {
	Label  string      `ch:"label,label"`
	Words  []string    `ch:"words,label"`
	Flag   bool        `ch:"flag,label"`
	N      uint32      `ch:"n,number"`
	Opt    Opt[uint64] `ch:"opt,number"`
	Signed Opt[int64]  `ch:"signed,number"`
	Maybe  []*int64    `ch:"maybe,number"`
	Text   string      `ch:"text,detail"`
	List   []uint16    `ch:"list,detail"`
	Floats []float32   `ch:"floats,detail"`
}

var packedTable = Of[packedRow]("packed")

func unpackRow(labels string, numbers []uint32, detail string) (packedRow, error) {
	var r packedRow
	err := packedTable.pack.read(labels, numbers, []string{detail}, unsafe.Pointer(&r))
	return r, err
}

// repack returns what a batch stores of a row.
func repack(r *packedRow) (labels string, numbers []uint32, detail string) {
	k := packedTable.pack.packer()
	k.add(unsafe.Pointer(r))
	return k.labelsCol.Values[0], *k.data, k.objectCols[0].Row(0)
}

// Whatever stands in the columns, reading gives a row or an error, and a row that was read is stored and read as itself.
func FuzzPacked(f *testing.F) {
	for _, s := range []struct{ labels, numbers, detail string }{
		{"", "", ""},
		{`{"label":"a","words":["x","\"\\\u0000"],"flag":true,"at":{"n":1,"opt":1,"maybe":[0,2]}}`, "\x01\x00\x00\x00\x02\x00\x00\x00", `{"text":"ß"}`},
		{`{"at":{}}`, "", `{"signed":-9223372036854775808,"list":[1,65535],"floats":[0.5,null,-1e-7]}`},
		{`{"new":[{"a":1}],"at":{"new":7}}`, "", `{"opt":18446744073709551615,"newer":null}`},
		{`{"at":{"n":9}}`, "", `{"list":[65536]}`},
	} {
		f.Add(s.labels, []byte(s.numbers), s.detail)
	}
	f.Fuzz(func(t *testing.T, labels string, raw []byte, detail string) {
		var numbers []uint32
		for ; len(raw) >= 4; raw = raw[4:] {
			numbers = append(numbers, binary.LittleEndian.Uint32(raw))
		}
		row, err := unpackRow(labels, numbers, detail)
		if err != nil {
			return
		}
		again, err := unpackRow(repack(&row))
		require.NoError(t, err)
		// Bytes that are no UTF-8 become U+FFFD once and stay so.
		third, err := unpackRow(repack(&again))
		require.NoError(t, err)
		require.Equal(t, show(&again), show(&third))
	})
}

// show is a text in which equal rows are equal, NaN and lists of pointers included.
func show(r *packedRow) string {
	flat := *r
	flat.Maybe = nil
	s := fmt.Sprintf("%+v", flat)
	for _, p := range r.Maybe {
		if p == nil {
			s += " NULL"
			continue
		}
		s += fmt.Sprint(" ", *p)
	}
	return s
}

func TestReadingRefusesWhatBatchesDoNotWrite(t *testing.T) {
	for _, c := range []struct {
		labels, detail string
		want           string
	}{
		{`{"label":"a"`, "", "column labels: "},
		{`{"label":7}`, "", "column labels: "},
		{`{"at":{"n":3}}`, "", "column labels: "},
		{`{"label":"a"}x`, "", "column labels: "},
		{"", `{"list":[65536]}`, "column detail: "},
		{"", `{"list":[-1]}`, "column detail: "},
		{"", `{"signed":9223372036854775808}`, "column detail: "},
		{"", `{"text":"\x"}`, "column detail: "},
		{"", `[]`, "column detail: "},
	} {
		_, err := unpackRow(c.labels, []uint32{1, 2}, c.detail)
		require.ErrorContains(t, err, c.want, "%s %s", c.labels, c.detail)
	}
	row, err := unpackRow(`{"later":[1,"x",[true]],"label":"a","at":{"later":1,"n":2}}`, []uint32{1, 2}, `{"later":null,"text":"b"}`)
	require.NoError(t, err, "fields of a later version are passed over")
	require.Equal(t, packedRow{Label: "a", N: 2, Text: "b"}, row)
}

func BenchmarkAppend(b *testing.B) {
	batch := packedTable.NewBatch()
	row := packedRow{Label: "stop", Words: []string{"a", "b"}, N: 400, Opt: Some[uint64](120_000), Text: "chatcmpl-8f2a"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%5000 == 0 {
			batch.Reset()
		}
		row.N++
		batch.Append(&row)
	}
}

// A batch that is empty keeps no string of its rows: one may be a part of a body of megabytes.
func TestAnEmptyBatchHoldsNoStrings(t *testing.T) {
	one, many := newWords(), newWords()
	one.Append("a")
	list := array(proto.NewArray[string](many), appendEach[string])
	words := []string{"a", "b"}
	list.add(unsafe.Pointer(&words))
	one.Reset()
	list.col.Reset()
	require.Equal(t, []string{""}, one.Values[:1])
	require.Equal(t, []string{"", ""}, many.Values[:2])
}
