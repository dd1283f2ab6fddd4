// Package schema holds the JSON Schemas (draft 2020-12) of the bodies that the ingest endpoints take. They
// are what the documentation, the SDKs and the tests share.
package schema

import _ "embed"

// Schemas of one body each: an item, or an array of items.
var (
	//go:embed chunks.schema.json
	chunks []byte
	//go:embed gateway.schema.json
	gateway []byte
	//go:embed rum.schema.json
	rum []byte
)

// Chunks returns the schema of POST /v1/chunks.
func Chunks() []byte { return append([]byte(nil), chunks...) }

// Gateway returns the schema of POST /v1/gateway.
func Gateway() []byte { return append([]byte(nil), gateway...) }

// RUM returns the schema of POST /v1/rum.
func RUM() []byte { return append([]byte(nil), rum...) }
