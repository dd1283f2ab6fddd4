// Package gatewayreceiver takes what gateways and routers know of a request: attempts, queue and cache times,
// the routing decision. Native bodies come to POST /v1/gateway; the log records of LiteLLM, Kong, Higress and APISIX
// are taken there too, and on /v1/gateway/litellm, /kong, /higress and /apisix.
package gatewayreceiver
