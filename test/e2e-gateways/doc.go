// Package e2egateways tests real gateways in front of a whole Fermata, configured by what their adapters' READMEs say: run.sh,
// or `make e2e-gateways`. It is not part of `go test ./...`, since it downloads LiteLLM and Envoy.
package e2egateways
