package table_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/table"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// row has a field of every type in every kind of column.
type row struct {
	RequestID string       `ch:"request_id"`
	Version   uint64       `ch:"version" rank:"-"`
	Tenant    string       `ch:"tenant" type:"LowCardinality(String)"`
	Flag      bool         `ch:"flag"`
	U16       uint16       `ch:"u16"`
	U32       uint32       `ch:"u32"`
	I32       int32        `ch:"i32"`
	I64       int64        `ch:"i64"`
	At        table.Micros `ch:"happened_at"`

	O32 table.Opt[uint32] `ch:"o32"`
	O64 table.Opt[uint64] `ch:"o64"`
	Oi  table.Opt[int64]  `ch:"oi"`

	Bools   []bool    `ch:"bools"`
	U16s    []uint16  `ch:"u16s"`
	U32s    []uint32  `ch:"u32s"`
	U64s    []uint64  `ch:"u64s"`
	I32s    []int32   `ch:"i32s"`
	Floats  []float32 `ch:"floats"`
	Strings []string  `ch:"strings"`
	Words   []string  `ch:"words" type:"Array(LowCardinality(String))"`
	Maybe   []*int64  `ch:"maybe"`

	Label      string            `ch:"label,label"`
	LabelFlag  bool              `ch:"label_flag,label"`
	LabelI32   int32             `ch:"label_i32,label"`
	LabelOpt   table.Opt[uint32] `ch:"label_opt,label"`
	LabelWords []string          `ch:"label.words,label"`
	LabelBools []bool            `ch:"label.bools,label"`
	LabelU16s  []uint16          `ch:"label.u16s,label"`
	LabelI32s  []int32           `ch:"label.i32s,label"`

	NumU32   uint32            `ch:"num_u32,number"`
	NumU64   uint64            `ch:"num_u64,number"`
	NumI64   int64             `ch:"num_i64,number"`
	NumO32   table.Opt[uint32] `ch:"num_o32,number"`
	NumO64   table.Opt[uint64] `ch:"num_o64,number"`
	NumOi    table.Opt[int64]  `ch:"num_oi,number"`
	NumMaybe []*int64          `ch:"num.maybe,number"`
	NumLast  table.Opt[int64]  `ch:"num_last,number"`

	Text    string    `ch:"text,detail"`
	DetU16  uint16    `ch:"det_u16,detail"`
	DetU64  uint64    `ch:"det_u64,detail"`
	DetU64s []uint64  `ch:"det.u64s,detail"`
	DetU32s []uint32  `ch:"det.u32s,detail"`
	Maybes  []*int64  `ch:"det.maybe,detail"`
	Probs   []float32 `ch:"probs,rare"`

	Elsewhere int // no column
}

var rows = table.Of[row]("everything")

// create makes the table that rows describes.
func create(t *testing.T, db *storagetest.DB) {
	var cols []string
	for _, c := range rows.Columns() {
		cols = append(cols, fmt.Sprintf("`%s` %s", c.Name, c.Type))
	}
	for _, a := range rows.Aliases() {
		cols = append(cols, fmt.Sprintf("`%s` %s ALIAS %s", a.Name, a.Type, a.Expression))
	}
	require.NoError(t, db.Conn.Exec(t.Context(), "CREATE TABLE everything ("+strings.Join(cols, ", ")+") ENGINE = MergeTree ORDER BY (request_id, version)"))
}

func drawRow(t *rapid.T) row {
	word := func(label string) string {
		return rapid.SampledFrom([]string{"", "a", "b", "ß→", `q"u\o`, "tab\tnul\x00esc\x1b", "{}[],:", strings.Repeat("long ", 40)}).Draw(t, label)
	}
	u32 := func(label string) uint32 {
		return rapid.SampledFrom([]uint32{0, 1, 7, math.MaxUint32}).Draw(t, label) & rapid.Uint32().Draw(t, label+" mask")
	}
	u64 := func(label string) uint64 {
		return rapid.SampledFrom([]uint64{0, 1, 7, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64}).Draw(t, label)
	}
	i64 := func(label string) int64 {
		return rapid.SampledFrom([]int64{0, 1, -1, 7, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MinInt64}).Draw(t, label)
	}
	known := func(label string) bool { return rapid.Bool().Draw(t, label+" known") }
	list := func(label string) int { return rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, label+" length") }
	maybe := func(label string) (out []*int64) {
		for range list(label) {
			var p *int64
			if known(label) {
				v := i64(label)
				p = &v
			}
			out = append(out, p)
		}
		return out
	}
	r := row{
		RequestID: word("id"), Tenant: word("tenant"), Flag: known("flag"), U16: uint16(u32("u16")), U32: u32("u32"), I32: int32(i64("i32")), I64: i64("i64"),
		At: table.Micros(rapid.Int64Range(0, 4e15).Draw(t, "at")), Label: word("label"), LabelFlag: known("label flag"), LabelI32: int32(i64("label i32")),
		NumU32: u32("n32"), NumU64: u64("n64"), NumI64: i64("ni64"), NumMaybe: maybe("numbers"), Maybe: maybe("maybe"), Maybes: maybe("maybes"),
		Text: word("text"), DetU16: uint16(u32("d16")), DetU64: u64("d64"),
	}
	for _, o := range []*table.Opt[uint32]{&r.O32, &r.LabelOpt, &r.NumO32} {
		if known("o32") {
			*o = table.Some(u32("o32"))
		}
	}
	for _, o := range []*table.Opt[uint64]{&r.O64, &r.NumO64} {
		if known("o64") {
			*o = table.Some(u64("o64"))
		}
	}
	for _, o := range []*table.Opt[int64]{&r.Oi, &r.NumOi, &r.NumLast} {
		if known("oi") {
			*o = table.Some(i64("oi"))
		}
	}
	for _, l := range []*[]string{&r.Strings, &r.Words, &r.LabelWords} {
		for range list("words") {
			*l = append(*l, word("word"))
		}
	}
	for _, l := range []*[]bool{&r.Bools, &r.LabelBools} {
		for range list("bools") {
			*l = append(*l, known("bool"))
		}
	}
	for range list("u16s") {
		r.U16s = append(r.U16s, uint16(u32("u16s")))
		r.LabelU16s = append(r.LabelU16s, uint16(u32("label u16s")))
	}
	for range list("numbers") {
		r.U32s, r.U64s, r.I32s = append(r.U32s, u32("u32s")), append(r.U64s, u64("u64s")), append(r.I32s, int32(i64("i32s")))
		r.DetU32s, r.DetU64s, r.LabelI32s = append(r.DetU32s, u32("det u32s")), append(r.DetU64s, u64("det u64s")), append(r.LabelI32s, int32(i64("label i32s")))
		r.Floats = append(r.Floats, rapid.Float32().Draw(t, "float"))
		r.Probs = append(r.Probs, rapid.Float32Range(-100, 0).Draw(t, "prob"))
	}
	return r
}

// What goes in comes out, and what the table computes is what went in.
func TestRowsGoThroughTheEngine(t *testing.T) {
	db := storagetest.New(t)
	create(t, db)
	storagetest.Columns(t, db, rows)
	draw := rapid.Custom(drawRow)
	const n = 500
	batch := rows.NewBatch()
	want := map[uint64]row{}
	for i := range uint64(n) {
		r := draw.Example(int(i))
		r.Version = i
		want[i] = r
		batch.Append(&r)
	}
	nan := row{Version: n, Probs: []float32{-1, float32(math.NaN())}}
	batch.Append(&nan)
	require.Equal(t, n+1, batch.Len())
	db.Insert(t, batch)
	for _, got := range storagetest.All(t, db, rows, "version < 500") {
		same(t, want[got.Version], got)
	}
	got := storagetest.All(t, db, rows, "version = 500")
	require.Len(t, got, 1)
	require.True(t, math.IsNaN(float64(got[0].Probs[1])))
	storagetest.Computed(t, db, rows)
}

// same compares rows; an empty list is no list.
func same(t require.TestingT, want, got row) {
	require.Equal(t, fmt.Sprintf("%+v", want.flat()), fmt.Sprintf("%+v", got.flat()))
}

// flat shows lists of pointers by value.
func (r row) flat() []any {
	show := func(l []*int64) (out []string) {
		for _, p := range l {
			if p == nil {
				out = append(out, "NULL")
				continue
			}
			out = append(out, fmt.Sprint(*p))
		}
		return out
	}
	maybe := [][]string{show(r.Maybe), show(r.NumMaybe), show(r.Maybes)}
	r.Maybe, r.NumMaybe, r.Maybes = nil, nil, nil
	return []any{r, maybe}
}

// A batch that is used again holds nothing of before.
func TestBatchReset(t *testing.T) {
	db := storagetest.New(t)
	create(t, db)
	batch := rows.NewBatch()
	first, second := row{Version: 1, Label: "first", Text: "first", NumU32: 7}, row{Version: 2, NumU32: 8, NumU64: 8, NumO32: table.Some[uint32](8)}
	batch.Append(&first)
	db.Insert(t, batch)
	batch.Reset()
	require.Zero(t, batch.Len())
	batch.Append(&second)
	db.Insert(t, batch)
	all := storagetest.All(t, db, rows, "1 ORDER BY version")
	require.Len(t, all, 2)
	same(t, first, all[0])
	same(t, second, all[1])
	var numbers []uint32
	require.NoError(t, db.Conn.QueryRow(context.Background(), "SELECT numbers FROM everything WHERE version = 2").Scan(&numbers))
	require.Equal(t, []uint32{8}, numbers, "equal neighbours share a place")
}

func TestContentTellsRowsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawRow(t)
		b := a
		b.Version++ // not ranked
		require.Equal(t, rows.AppendContent(nil, &a), rows.AppendContent(nil, &b))
		b.Text += "x"
		require.NotEqual(t, rows.AppendContent(nil, &a), rows.AppendContent(nil, &b))
		b = a
		b.NumLast = table.Some(a.NumLast.V + 1)
		require.NotEqual(t, rows.AppendContent(nil, &a), rows.AppendContent(nil, &b))
	})
}

func TestFieldsThatCanNotBeColumns(t *testing.T) {
	require.PanicsWithValue(t, "table t: field X: no column type for complex128", func() {
		table.Of[struct {
			X complex128 `ch:"x"`
		}]("t")
	})
	require.PanicsWithValue(t, "table t: field X: string is no number", func() {
		table.Of[struct {
			X string `ch:"x,number"`
		}]("t")
	})
	require.PanicsWithValue(t, `table t: field X: "at" can't be a packed column's name`, func() {
		table.Of[struct {
			X string `ch:"at,label"`
		}]("t")
	})
	require.PanicsWithValue(t, "table t: field X: uint32 can't be stored as String", func() {
		table.Of[struct {
			X uint32 `ch:"x" type:"String"`
		}]("t")
	})
}
