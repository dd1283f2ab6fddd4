// Package gatewayreceiver takes what gateways and routers know of a request: attempts, queue and cache times,
// the routing decision. Native bodies come to POST /v1/gateway; LiteLLM's standard_logging_object is taken
// there too, and on POST /v1/gateway/litellm.
package gatewayreceiver
