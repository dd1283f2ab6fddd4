package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire/schema"
)

func compile(t require.TestingT, raw []byte) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("body.json", doc))
	s, err := c.Compile("body.json")
	require.NoError(t, err)
	return s
}

func validDoc(t require.TestingT, s *jsonschema.Schema, body string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	require.NoError(t, err, body)
	return s.Validate(doc)
}

// endpoints pairs each schema with its decoder.
var endpoints = []struct {
	name   string
	schema []byte
	def    string // the definition of one item
	fields []string
	decode func(body []byte, o DecodeOptions) []ItemError
	base   string // fields of a valid item
}{
	{
		"chunks", schema.Chunks(), "stream", streamTable.names(),
		func(b []byte, o DecodeOptions) []ItemError { _, errs := DecodeStreams(b, o); return errs },
		`"request_id":"r","started_at":1760000000000000`,
	},
	{
		"gateway", schema.Gateway(), "record", gatewayTable.names(),
		func(b []byte, o DecodeOptions) []ItemError { _, _, errs := DecodeGateways(b, o); return errs },
		`"request_id":"r","received_at":1760000000000000`,
	},
	{
		"rum", schema.RUM(), "envelope", clientTable.names(),
		func(b []byte, o DecodeOptions) []ItemError { _, errs := DecodeClients(b, o); return errs },
		`"session_id":"s"`,
	},
}

func schemaOptions() DecodeOptions {
	o := NewDefaultDecodeOptions()
	o.Now = time.Date(2026, 10, 9, 8, 0, 0, 0, time.UTC)
	return o
}

func TestSchemaHasTheDecodersFields(t *testing.T) {
	for _, e := range endpoints {
		var doc struct {
			Defs map[string]struct {
				Properties map[string]json.RawMessage
			} `json:"$defs"`
		}
		require.NoError(t, json.Unmarshal(e.schema, &doc))
		require.Equal(t, slices.Sorted(slices.Values(e.fields)), slices.Sorted(maps.Keys(doc.Defs[e.def].Properties)), e.name)
	}
}

// values are tried for every field.
var values = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `12.0`, `1e3`, `2.5`, `-0.0`, `65536`, `4294967295`, `4294967296`, `9223372036854775807`,
	`1760000000000000`, `1760000000000001.0`, `1760000000000000.5`, `1760000000000`, `1760000000000000000`, `""`, `"a"`, `"stop"`, `"other"`, `"server"`, `"full"`,
	`"0af7651916cd43dd8448eb211c80319c"`, `"B7AD6B7169203331"`, `"a b"`, `[]`, `["a","b"]`, `[""]`, `[1,2]`, `[null]`, `[1,"a"]`, `[[1,"hidden"]]`, `[[1,2]]`,
	`[[1,2,3]]`, `[[1]]`, `[[-1,2]]`, `[{}]`, `[{"t":1,"bytes":2}]`, `[{"attempt":1,"served":true},{"error":{"code":500}}]`, `[{"attempt":0}]`, `{}`, `{"t":[1,2],"bytes":[3,4]}`,
	`{"t":[1.5]}`, `{"dt":[1,2],"kind":["content","done"]}`, `{"dt":[-1]}`, `{"t":[1],"dt":[1]}`, `{"t":null,"dt":[1]}`, `{"t":"a"}`, `{"t":[1],"kind":["x"]}`,
	`{"t":[1],"bytes":[-1]}`, `{"t":[1],"tokens":[1.0],"choice":[65535]}`, `{"t":[1],"choice":[65536]}`, `{"type":"a","message":"b"}`, `{"type":5}`, `{"code":"x"}`, `{"code":1.5}`,
	`{"result":"full","level":"gpu"}`, `{"result":"most"}`, `{"draft":5,"accepted":4}`, `{"draft":-5}`, `{"policy":"p","candidates":["a"],"chosen":"a"}`, `{"candidates":"a"}`,
	`{"definition":"x","ttft_us":1}`, `{"ttft_us":"1"}`, `{"time_origin":1760000000000000.25,"now":5.5}`, `{"time_origin":-1}`, `{"rtt":50.5,"downlink":1.55,"type":"4g"}`, `{"downlink":-1}`,
	`{"t":[1,2],"kind_runs":[["role",1],["content",1]]}`, `{"t":[1],"kind_runs":[["content",0]]}`, `{"t":[1],"kind_runs":[["x",1]]}`, `{"t":[1],"kind_runs":[["content",1,1]]}`,
	`{"t":[1],"kind_runs":[["content"]]}`, `{"t":[1],"kind_runs":["content",1]}`, `{"t":[1],"kind_runs":[["content",1]],"kind":["content"]}`, `{"t":[1],"kind_runs":[["content",200001]]}`,
	`10000`, `10001`, `99`, `100`, `999`, `1.25`, `0.5`,
	`[{"request_id":"r"}]`, `[{"request_id":"r","recv":{"t":[1]}},{}]`, `[5]`, `[{"streams":[]}]`, `[{"request_id":"a b"}]`,
}

// beyond are the words of problems that a schema can't see.
var beyond = []string{
	"must ascend", "arrays of one object", "looks like", "in the future", "is out of range (9223372036854775807)", "before the last chunk", "a second time", "are these nanoseconds",
	"µs before ", "given twice", "is missing; a record needs", "does not hold",
}

// TestSchemaAgreesWithDecoder gives every field every value: both take it, or both refuse it.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	for _, e := range endpoints {
		s := compile(t, e.schema)
		for _, field := range e.fields {
			for _, v := range values {
				base := e.base
				if i := strings.Index(base, `"`+field+`":`); i >= 0 {
					continue // required: tried by the decoder's own tests
				}
				body := fmt.Sprintf(`{%s,%q:%s}`, base, field, v)
				errs := e.decode([]byte(body), schemaOptions())
				err := validDoc(t, s, body)
				if len(errs) > 0 && err == nil {
					why := errs[0].Error()
					require.True(t, slices.ContainsFunc(beyond, func(w string) bool { return strings.Contains(why, w) }),
						"%s: the schema takes what the decoder refuses: %s: %s", e.name, body, why)
				}
				if len(errs) == 0 {
					require.NoError(t, err, "%s: the schema refuses what the decoder takes: %s", e.name, body)
				}
			}
		}
	}
}

// TestSchemaTakesWhatTheDecoderTakes tries combinations of fields.
func TestSchemaTakesWhatTheDecoderTakes(t *testing.T) {
	for _, e := range endpoints {
		s := compile(t, e.schema)
		rapid.Check(t, func(t *rapid.T) {
			fields := rapid.SliceOfNDistinct(rapid.SampledFrom(e.fields), 1, 5, rapid.ID).Draw(t, "fields")
			var b strings.Builder
			b.WriteString("{" + e.base)
			for _, f := range fields {
				if strings.Contains(e.base, `"`+f+`":`) {
					continue
				}
				fmt.Fprintf(&b, ",%q:%s", f, rapid.SampledFrom(values).Draw(t, f))
			}
			b.WriteString("}")
			if len(e.decode([]byte(b.String()), schemaOptions())) == 0 {
				require.NoError(t, validDoc(t, s, b.String()), b.String())
			}
		})
	}
}
