// Package e2ellm tests the tap, and a whole Fermata, with a real language model and a real client: run.sh, or
// `make e2e-llm`. It is not part of `go test ./...`, since it downloads a model.
package e2ellm
