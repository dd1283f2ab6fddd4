package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// readOTLP hands on OTLP/JSON exports as they are: the Collector's file exporter writes one a line, others one document.
func readOTLP(r *reader) error {
	r.note("OTLP goes to the OTLP/HTTP endpoint as it stands; --tenant, --model and --start don't touch it")
	f, err := r.src.reader()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	dec := json.NewDecoder(f)
	for n := 1; ; n++ {
		var doc json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return errors.New("export " + strconv.Itoa(n) + ": " + jsonReason(err))
		}
		if err := r.export(doc, "export "+strconv.Itoa(n)); err != nil {
			return err
		}
	}
}

func (r *reader) export(doc []byte, where string) error {
	var e struct {
		ResourceLogs []struct {
			ScopeLogs []struct {
				LogRecords []json.RawMessage `json:"logRecords"`
			} `json:"scopeLogs"`
		} `json:"resourceLogs"`
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []json.RawMessage `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := json.Unmarshal(doc, &e); err != nil {
		r.skip(where, "not an OTLP export: "+jsonReason(err))
		return nil
	}
	o := &Raw{Path: "/v1/logs", OTLP: true, Body: bytes.Clone(doc)}
	for _, rl := range e.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			o.Items += len(sl.LogRecords)
		}
	}
	if len(e.ResourceSpans) > 0 {
		o.Path = "/v1/traces"
		for _, rs := range e.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				o.Items += len(ss.Spans)
			}
		}
	}
	if o.Items == 0 {
		r.skip(where, "has neither log records nor spans")
		return nil
	}
	return r.send(Record{Raw: o}, "")
}
