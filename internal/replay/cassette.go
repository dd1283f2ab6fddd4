package replay

import (
	"encoding/base64"
	"fmt"
	"net/http"

	"go.yaml.in/yaml/v3"
)

// cassette is a recording of VCR.py and its kin.
type cassette struct {
	Interactions []struct {
		Request struct {
			URI string `yaml:"uri"`
		} `yaml:"request"`
		Response struct {
			Body    yaml.Node `yaml:"body"`
			Headers yaml.Node `yaml:"headers"`
			Status  struct {
				Code int `yaml:"code"`
			} `yaml:"status"`
		} `yaml:"response"`
	} `yaml:"interactions"`
}

// readCassette reads the streamed answers of a cassette. NDJSON with created_at keeps those times; SSE has none.
func readCassette(r *reader) error {
	doc, err := r.src.document()
	if err != nil {
		return err
	}
	var c cassette
	if err := yaml.Unmarshal(doc, &c); err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	for i := range c.Interactions {
		x := &c.Interactions[i]
		where := fmt.Sprintf("interactions[%d]", i)
		body, err := cassetteBody(&x.Response.Body)
		if err != nil {
			r.skip(where, err.Error())
			continue
		}
		a := answer{url: x.Request.URI, status: x.Response.Status.Code, header: cassetteHeader(&x.Response.Headers), body: body}
		if err := r.recorded(a, where, i); err != nil {
			return err
		}
	}
	return nil
}

func cassetteBody(n *yaml.Node) ([]byte, error) {
	var b struct {
		String *string `yaml:"string"`
		Base64 string  `yaml:"base64_string"`
	}
	switch n.Kind {
	case yaml.MappingNode:
		if err := n.Decode(&b); err != nil {
			return nil, fmt.Errorf("body can't be read")
		}
	case yaml.ScalarNode:
		var s string
		if err := n.Decode(&s); err != nil {
			return nil, fmt.Errorf("body can't be read")
		}
		b.String = &s
	}
	switch {
	case b.String != nil:
		return []byte(*b.String), nil
	case b.Base64 != "":
		raw, err := base64.StdEncoding.DecodeString(b.Base64)
		if err != nil {
			return nil, fmt.Errorf("body is no base64")
		}
		return raw, nil
	}
	return nil, fmt.Errorf("has no body")
}

// cassetteHeader reads name: value and name: [values].
func cassetteHeader(n *yaml.Node) http.Header {
	h := http.Header{}
	var m map[string]yaml.Node
	if n.Decode(&m) != nil {
		return h
	}
	for k, v := range m {
		var list []string
		var one string
		switch {
		case v.Kind == yaml.SequenceNode && v.Decode(&list) == nil:
			for _, s := range list {
				h.Add(k, s)
			}
		case v.Decode(&one) == nil:
			h.Add(k, one)
		}
	}
	return h
}
