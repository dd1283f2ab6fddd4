// Package api is Fermata's read API: openapi.yaml says what it answers, server.gen.go is generated from it, and the handlers
// ask storage/requests. The JSON of a request is defined once, by storage/requests; a test holds openapi.yaml to it.
package api

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config oapi-codegen.yaml openapi.yaml
