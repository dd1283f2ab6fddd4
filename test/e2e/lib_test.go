package e2e

import "strings"

// withoutTenant takes a tenant's name out of an answer, so that answers of several tenants can be compared.
func withoutTenant(s, tenant string) string { return strings.ReplaceAll(s, tenant, "TENANT") }
