package wire

import (
	"math"
	"strconv"
	"strings"
)

// chunkDraft is a chunks object while it is read.
type chunkDraft struct {
	*Chunks
	haveT, haveDT, haveBytes, haveText bool
	haveKind, haveKindRuns             bool
	textLen                            []uint32
}

// reset prepares c for the next record and keeps the arrays' room.
func (c *chunkDraft) reset(to *Chunks) {
	to.T, to.Bytes, to.Tokens, to.Kind = to.T[:0], to.Bytes[:0], to.Tokens[:0], to.Kind[:0]
	to.Choice, to.Text, to.Hashes, to.Logprob = to.Choice[:0], nil, nil, to.Logprob[:0]
	*c = chunkDraft{Chunks: to, textLen: c.textLen[:0]}
}

func timesFields(round bool) []jsonField[chunkDraft] {
	return []jsonField[chunkDraft]{
		{name: "t", set: func(d *jsonDecoder, c *chunkDraft) (err error) {
			if c.haveDT {
				d.fail("stands beside dt; give one of the two")
				return d.skip()
			}
			c.haveT = true
			c.T, err = int64s(d, c.T, math.MinInt64, math.MaxInt64, wantUS, round)
			return err
		}},
		{
			name: "dt",
			set: func(d *jsonDecoder, c *chunkDraft) (err error) {
				if c.haveT {
					d.fail("stands beside t; give one of the two")
					return d.skip()
				}
				c.haveDT = true
				if c.T, err = int64s(d, c.T, math.MinInt64, math.MaxInt64, wantUS, round); err == nil {
					d.sumUp(c.T)
				}
				return err
			},
			add: func(dst []byte, c *chunkDraft) []byte {
				prev := int64(0)
				for i, t := range c.T {
					dst = append(dst, "[,"[min(i, 1)])
					dst = strconv.AppendInt(dst, t-prev, 10)
					prev = t
				}
				if len(c.T) > 0 {
					dst = append(dst, ']')
				}
				return dst
			},
		},
	}
}

// sumUp turns differences into offsets.
func (d *jsonDecoder) sumUp(t []int64) {
	sum := int64(0)
	for i, v := range t {
		switch {
		case v < 0:
			d.failAt(i, "is negative (%d); times must ascend", v)
			return
		case v > math.MaxInt64-sum:
			d.failAt(i, "is out of range (%d)", v)
			return
		}
		sum += v
		t[i] = sum
	}
}

var bytesField = jsonField[chunkDraft]{
	name: "bytes",
	set: func(d *jsonDecoder, c *chunkDraft) (err error) {
		c.haveBytes = true
		c.Bytes, err = int64s(d, c.Bytes, 0, math.MaxUint32, wantCount, false)
		return err
	},
	add: func(dst []byte, c *chunkDraft) []byte { return appendInts(dst, c.Bytes) },
}

var kindField = jsonField[chunkDraft]{
	name: "kind",
	set: func(d *jsonDecoder, c *chunkDraft) error {
		if c.haveKindRuns {
			d.fail("stands beside kind_runs; give one of the two")
			return d.skip()
		}
		c.haveKind = true
		return d.kinds(c)
	},
	add: func(dst []byte, c *chunkDraft) []byte {
		for i, k := range c.Kind {
			dst = append(dst, "[,"[min(i, 1)])
			dst = append(dst, '"')
			dst = append(dst, k.String()...)
			dst = append(dst, '"')
		}
		if len(c.Kind) > 0 {
			dst = append(dst, ']')
		}
		return dst
	},
}

// kindRunsField is kind as [[kind, how many], …], which is short since kinds come in runs. It is only read.
var kindRunsField = jsonField[chunkDraft]{
	name: "kind_runs",
	set: func(d *jsonDecoder, c *chunkDraft) error {
		if c.haveKind {
			d.fail("stands beside kind; give one of the two")
			return d.skip()
		}
		c.haveKindRuns = true
		return d.kindRuns(c)
	},
}

var textField = jsonField[chunkDraft]{
	name: "text",
	set:  func(d *jsonDecoder, c *chunkDraft) error { return d.texts(c) },
	add: func(dst []byte, c *chunkDraft) []byte {
		for i, s := range c.Text {
			dst = append(dst, "[,"[min(i, 1)])
			dst = appendString(dst, s)
		}
		if len(c.Text) > 0 {
			dst = append(dst, ']')
		}
		return dst
	},
}

var logprobsField = jsonField[chunkDraft]{
	name: "logprobs",
	set:  func(d *jsonDecoder, c *chunkDraft) error { return d.logprobs(c) },
	add:  func(dst []byte, c *chunkDraft) []byte { return appendFloats(dst, c.Logprob) },
}

// streamChunkTable is the chunks object of a server's or gateway's stream.
var streamChunkTable = newJSONTable(timesFields(false), []jsonField[chunkDraft]{
	bytesField,
	{
		name: "tokens",
		set: func(d *jsonDecoder, c *chunkDraft) (err error) {
			c.Tokens, err = int64s(d, c.Tokens, 0, math.MaxUint32, wantCount, false)
			return err
		},
		add: func(dst []byte, c *chunkDraft) []byte { return appendInts(dst, c.Tokens) },
	},
	kindField,
	{
		name: "choice",
		set: func(d *jsonDecoder, c *chunkDraft) (err error) {
			c.Choice, err = int64s(d, c.Choice, 0, math.MaxUint16, wantCount, false)
			return err
		},
		add: func(dst []byte, c *chunkDraft) []byte { return appendInts(dst, c.Choice) },
	},
	textField,
	{
		name: "hashes",
		set:  func(d *jsonDecoder, c *chunkDraft) error { return d.hashes(c) },
		add: func(dst []byte, c *chunkDraft) []byte {
			for i, s := range c.Hashes {
				dst = append(dst, "[,"[min(i, 1)])
				dst = appendString(dst, s)
			}
			if len(c.Hashes) > 0 {
				dst = append(dst, ']')
			}
			return dst
		},
	},
	logprobsField,
})

// recvTable is what a page received, posTable what it put into the DOM or painted.
var (
	recvTable = newJSONTable(timesFields(true), []jsonField[chunkDraft]{bytesField, kindField, kindRunsField})
	posTable  = newJSONTable(timesFields(true), []jsonField[chunkDraft]{bytesField})
)

func (d *jsonDecoder) kinds(c *chunkDraft) error {
	c.Kind = c.Kind[:0]
	bad := false
	err := d.elements(d.opt.Limits.MaxChunks, " of strings", func(int) error {
		if d.peek() != '"' {
			bad = true
			return d.wrongType("a string")
		}
		s, _, err := d.str()
		k, ok := parseKind(s)
		if !ok && !bad && err == nil {
			d.fail("is %q; want %s", clip(string(s)), strings.Join(KindNames(), ", "))
			bad = true
		}
		c.Kind = append(c.Kind, k)
		return err
	})
	return err
}

// kindRuns reads [[kind, how many], …]; together the runs make at most MaxChunks entries.
func (d *jsonDecoder) kindRuns(c *chunkDraft) error {
	const want = "[kind, how many]"
	c.Kind = c.Kind[:0]
	most, before := d.opt.Limits.MaxChunks, len(d.errs)
	return d.elements(most, " of "+want, func(int) error {
		if d.peek() != '[' {
			return d.wrongType(want)
		}
		var k Kind
		entries := 0
		err := d.elements(maxEvents, "", func(i int) error {
			entries++
			switch {
			case i == 0 && d.peek() != '"':
				return d.wrongType("a string")
			case i == 0:
				s, _, err := d.str()
				var ok bool
				if k, ok = parseKind(s); !ok && err == nil && len(d.errs) == before {
					d.fail("is %q; want %s", clip(string(s)), strings.Join(KindNames(), ", "))
				}
				return err
			case i == 1:
				n, ok, err := d.int(wantCount, false)
				switch {
				case !ok:
				case n < 1:
					d.fail("is %d; want at least 1", n)
				case n > int64(most-len(c.Kind)):
					d.fail("makes more than %d entries; send the stream in segments", most)
				case len(d.errs) == before:
					for range n {
						c.Kind = append(c.Kind, k)
					}
				}
				return err
			}
			return d.skip()
		})
		if err == nil && entries != 2 {
			d.fail("has %d entries; want %s", entries, want)
		}
		return err
	})
}

func parseKind(s []byte) (Kind, bool) {
	if string(s) == "content" {
		return KindContent, true
	}
	return ParseKind(string(s))
}

// texts measures the text of each chunk. Halves of surrogate pairs and broken UTF-8, where a sender cut a
// character in two, count as the replacement character, which is what a browser makes of them.
func (d *jsonDecoder) texts(c *chunkDraft) error {
	if c.haveText {
		d.fail("is given twice, here and in chunks")
		return d.skip()
	}
	c.haveText = true
	return d.elements(d.opt.Limits.MaxChunks, " of strings", func(int) error {
		if d.peek() != '"' {
			return d.wrongType("a string")
		}
		s, defect, err := d.str()
		if err != nil {
			return err
		}
		if defect&strMalformed != 0 {
			d.fail("%s", defect)
		}
		c.textLen = append(c.textLen, uint32(min(len(s), math.MaxUint32)))
		if d.opt.KeepText {
			c.Text = append(c.Text, string(s))
		}
		return nil
	})
}

// hashes reads, for each chunk, a string of hexadecimal hashes or an array of token ids.
func (d *jsonDecoder) hashes(c *chunkDraft) error {
	const want = "a string of hexadecimal numbers with blanks between them, or an array of integers"
	c.Hashes = nil
	return d.elements(d.opt.Limits.MaxChunks, " of strings or arrays", func(int) error {
		var b []byte
		switch d.peek() {
		case '"':
			s, _, err := d.str()
			if err != nil {
				return err
			}
			if !validHashes(s) {
				d.fail("want %s", want) // what is there may be text
			}
			b = s
		case '[':
			if err := d.elements(maxEvents, " of integers", func(int) error {
				v, ok, err := d.int(wantCount, false)
				if ok && v < 0 {
					d.fail("is negative (%d)", v)
				}
				if len(b) > 0 {
					b = append(b, ' ')
				}
				b = strconv.AppendUint(b, uint64(v), 16) //nolint:gosec // refused above when negative
				return err
			}); err != nil {
				return err
			}
		default:
			return d.wrongType(want)
		}
		if d.opt.KeepText {
			c.Hashes = append(c.Hashes, string(b))
		}
		return nil
	})
}

// validHashes reports hexadecimal numbers of 1 to 16 digits with one blank between them; none at all is fine.
func validHashes(s []byte) bool {
	digits := 0
	for i, b := range s {
		switch {
		case isDigit(b) || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F':
			if digits++; digits > 16 {
				return false
			}
		case b == ' ' && digits > 0 && i+1 < len(s):
			digits = 0
		default:
			return false
		}
	}
	return true
}

func (d *jsonDecoder) logprobs(c *chunkDraft) error {
	c.Logprob = c.Logprob[:0]
	return d.elements(d.opt.Limits.MaxChunks, " of numbers", func(int) error {
		v := float32(math.NaN())
		switch b := d.peek(); {
		case b == 'n':
			if err := d.literal("null"); err != nil {
				return err
			}
		case b == '-' || isDigit(b):
			s, err := d.number()
			if err != nil {
				return err
			}
			f, err := strconv.ParseFloat(string(s), 32)
			if err != nil {
				d.fail("is out of range (%s)", clip(string(s)))
			}
			v = float32(f)
		default:
			return d.wrongType("a number or null")
		}
		c.Logprob = append(c.Logprob, v)
		return nil
	})
}

// finish checks what one field alone can't show.
func (d *jsonDecoder) finishChunks(c *chunkDraft) {
	if !c.haveText || len(d.errs) > 0 {
		return
	}
	if len(c.textLen) != len(c.T) {
		d.failIn("text", "has %d entries but chunks.t has %d; arrays of one object have one length", len(c.textLen), len(c.T))
		return
	}
	if !c.haveBytes {
		c.Bytes = append(c.Bytes[:0], c.textLen...)
	}
}
