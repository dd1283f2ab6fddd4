package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// nativePath tells the endpoint that takes a body of Fermata's own; empty when it is none.
func nativePath(line []byte) string {
	key := func(k string) bool { return bytes.Contains(line, []byte(`"`+k+`"`)) }
	switch {
	case key("streams") || key("session_id") && (key("recv") || key("clock")):
		return "/v1/rum"
	case !key("request_id"):
		return ""
	case key("started_at"):
		return "/v1/chunks"
	case key("received_at"):
		return "/v1/gateway"
	}
	return ""
}

// readFermata hands on bodies as they stand: what `fermata replay --print` writes, or what a sender has logged.
func readFermata(r *reader) error {
	r.note("bodies go out as they stand; --tenant, --model and --start don't touch them")
	return r.src.lines(func(n int, line []byte) error {
		path := nativePath(line)
		if path == "" || !json.Valid(line) {
			r.skip("line "+strconv.Itoa(n), "is no body of /v1/chunks, /v1/gateway or /v1/rum")
			return nil
		}
		var head struct {
			RequestID string `json:"request_id"`
		}
		_ = json.Unmarshal(line, &head)
		return r.send(Record{Raw: &Raw{Path: path, Body: bytes.Clone(line), Items: 1}}, head.RequestID)
	})
}

// readLiteLLM hands on LiteLLM's logging payloads, which the gateway receiver translates.
func readLiteLLM(r *reader) error {
	r.note("payloads go to the gateway receiver's LiteLLM adapter; --tenant, --model and --start don't touch them")
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
			return errors.New("payload " + strconv.Itoa(n) + ": " + jsonReason(err))
		}
		items := []json.RawMessage{doc}
		if bytes.HasPrefix(doc, []byte("[")) {
			if err := json.Unmarshal(doc, &items); err != nil {
				return errors.New("payload " + strconv.Itoa(n) + ": " + jsonReason(err))
			}
		}
		for _, it := range items {
			var line bytes.Buffer
			if err := json.Compact(&line, it); err != nil {
				return err
			}
			if err := r.send(Record{Raw: &Raw{Path: "/v1/gateway/litellm", Body: line.Bytes(), Items: 1}}, ""); err != nil {
				return err
			}
		}
	}
}
