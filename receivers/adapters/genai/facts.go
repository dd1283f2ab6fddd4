package genai

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
)

// facts are an item's attributes by their meaning: for each field the value of its preferred key.
type facts struct {
	value [semconv.FieldCount]otlpwire.Value
	rank  [semconv.FieldCount]uint8
	set   []semconv.Field

	fermata bool // an attribute of Fermata's own, other than ids and labels
	genai   bool // an attribute of a GenAI namespace

	// memo remembers what the key at each place was: items of one sender have their keys in one order.
	memo [memoKeys]struct {
		key     string
		field   semconv.Field
		rank    uint8
		fermata bool
		genai   bool
	}
}

const memoKeys = 24

func (f *facts) reset() {
	for _, i := range f.set {
		f.value[i] = otlpwire.Value{}
	}
	f.set = f.set[:0]
	f.fermata, f.genai = false, false
}

func (f *facts) read(attrs otlpwire.Attrs) {
	f.reset()
	for i := range attrs {
		a := &attrs[i]
		if i >= memoKeys {
			field, rank := semconv.Lookup(a.Key)
			f.note(a.Key)
			f.put(field, rank, a.Value)
			continue
		}
		m := &f.memo[i]
		if m.key != a.Key {
			m.key = strings.Clone(a.Key)
			m.field, m.rank = semconv.Lookup(a.Key)
			m.fermata, m.genai = strings.HasPrefix(a.Key, "fermata."), ownKey(a.Key)
		}
		f.fermata = f.fermata || m.fermata
		f.genai = f.genai || m.genai
		f.put(m.field, m.rank, a.Value)
	}
}

func (f *facts) note(key string) {
	f.fermata = f.fermata || strings.HasPrefix(key, "fermata.")
	f.genai = f.genai || ownKey(key)
}

// ownKey reports whether a key belongs to a namespace that only LLM calls use.
func ownKey(key string) bool {
	return semconv.OwnName(key) || strings.HasPrefix(key, "litellm.")
}

func (f *facts) put(field semconv.Field, rank uint8, v otlpwire.Value) {
	if field == semconv.None || v.IsZero() {
		return
	}
	if f.value[field].IsZero() {
		f.set = append(f.set, field)
	} else if f.rank[field] <= rank {
		return
	}
	f.value[field], f.rank[field] = v, rank
}

func (f *facts) has(field semconv.Field) bool { return !f.value[field].IsZero() }

// str returns a string field, or the first entry of a string array: header attributes are arrays.
func (f *facts) str(field semconv.Field) string { return text(f.value[field]) }

func text(v otlpwire.Value) string {
	if v.Type == otlpwire.Array {
		s := ""
		_ = v.Elements(func(_ int, e otlpwire.Value) bool { s = e.Str(); return false })
		return s
	}
	return v.Str()
}

// int returns a whole number, however the sender typed it.
func (f *facts) int(field semconv.Field) (int64, bool) { return whole(f.value[field]) }

func whole(v otlpwire.Value) (int64, bool) {
	switch v.Type {
	case otlpwire.Int:
		return v.Int()
	case otlpwire.Double:
		d, _ := v.Float()
		if d != math.Trunc(d) || math.Abs(d) > 1<<53 {
			return 0, false
		}
		return int64(d), true
	case otlpwire.String:
		n, err := strconv.ParseInt(strings.TrimSpace(v.Str()), 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

// float returns a number, however the sender typed it.
func (f *facts) float(field semconv.Field) (float64, bool) {
	v := f.value[field]
	if d, ok := v.Float(); ok {
		return d, true
	}
	if v.Type != otlpwire.String {
		return 0, false
	}
	d, err := strconv.ParseFloat(strings.TrimSpace(v.Str()), 64)
	return d, err == nil
}

// finishReason returns the first reason: semconv's is an array with one for each choice, older senders
// write a string, some a JSON array in a string.
func (f *facts) finishReason() string {
	s := f.str(semconv.FinishReasons)
	if strings.HasPrefix(s, "[") {
		var list []string
		if json.Unmarshal([]byte(s), &list) == nil && len(list) > 0 {
			s = list[0]
		}
	}
	// Python's str() of an enum: "FinishReason.STOP".
	if i := strings.LastIndexByte(s, '.'); i >= 0 && strings.HasPrefix(s, "FinishReason") {
		s = strings.ToLower(s[i+1:])
	}
	if s == "None" || s == "null" {
		return ""
	}
	return s
}

// server names the host that the call went to.
func (f *facts) server() string {
	s := f.str(semconv.ServerAddress)
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil {
			return ""
		}
		return u.Host
	}
	if port, ok := f.int(semconv.ServerPort); ok && s != "" && port > 0 && port != 443 {
		return net.JoinHostPort(s, strconv.FormatInt(port, 10))
	}
	return s
}

// resourceFacts are the labels that all items of one resource share.
type resourceFacts struct {
	index      int
	tenant     string
	service    string
	deployment string
	region     string
	emitter    string
}

func (r *resourceFacts) read(src *otlpwire.Source, f *facts) {
	if r.index == src.Index {
		return
	}
	f.read(src.Resource)
	*r = resourceFacts{
		index:      src.Index,
		tenant:     f.str(semconv.Tenant),
		service:    f.str(semconv.ServiceName),
		deployment: first(f.str(semconv.Deployment), f.str(semconv.K8sDeployment)),
		region:     f.str(semconv.Region),
		emitter:    f.str(semconv.Emitter),
	}
	// What SDKs put when nobody configured a name.
	if strings.HasPrefix(r.service, "unknown_service") {
		r.service = ""
	}
}

func first(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}

// hexID writes a trace or span id; one of zeros, or of the wrong length, is none.
func hexID(b []byte, n int) string {
	if len(b) != n {
		return ""
	}
	for _, c := range b {
		if c != 0 {
			return hex.EncodeToString(b)
		}
	}
	return ""
}
