package wire

import "strings"

// otherNames are the paths under which a sender may give what a record's check calls otherwise. They are asked for only when
// a record is refused.
var otherNames = [...]struct{ field, sent string }{
	{"cache_level", "cache_hit.level"},
	{"cache_hit", "cache_hit.result"},
	{"headers_us", "ttfb_us"},
	{"emitter", "gateway"},
	{"chunks.text", "text"},
	{"chunks.logprobs", "logprobs"},
	{"chunks.t", "chunks.dt"},
	{"recv.t", "recv.dt"},
	{"dom.t", "dom.dt"},
	{"paint.t", "paint.dt"},
	{"chunks.kind", "chunks.kind_runs"},
	{"recv.kind", "recv.kind_runs"},
	{"dom.kind", "dom.kind_runs"},
	{"paint.kind", "paint.kind_runs"},
}

// sentAs returns the path under which the object at a place of the body, whose syntax is sound, gives a field; field itself
// when it gives none.
func (d *jsonDecoder) sentAs(at int, field string) (sent string, given bool) {
	name, rest := field, ""
	if i := strings.IndexByte(field, '['); i >= 0 {
		name, rest = field[:i], field[i:]
	}
	for _, o := range otherNames {
		if o.field == name && d.gives(at, o.sent) {
			return o.sent + rest, true
		}
	}
	return field, d.gives(at, name)
}

// gives reports whether the object at a place of the body has the value that a path without indices leads to.
func (d *jsonDecoder) gives(at int, path string) bool {
	r := jsonReader{b: d.b, i: at}
	if r.peek() != '{' {
		return false
	}
	r.i++
	name, deeper, nested := strings.Cut(path, ".")
	more, err := r.more('}', true)
	for more && err == nil {
		var key []byte
		if key, _, err = r.str(); err != nil {
			return false
		}
		found := string(key) == name
		if err = r.expect(':', "a colon"); err != nil {
			return false
		}
		if found && r.peek() != 'n' { // null is the same as absent
			return !nested || d.gives(r.i, deeper)
		}
		if err = r.skip(); err != nil {
			return false
		}
		more, err = r.more('}', false)
	}
	return false
}
