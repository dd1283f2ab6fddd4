// Package e2e runs the built binary as a user would: `fermata up` on a new data folder, records in over
// HTTP, OTLP and the tap, answers out of the API and the commands.
package e2e
