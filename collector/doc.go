// Package collector is Fermata's OpenTelemetry Collector distribution: which components it has, the
// configurations it ships and `fermata up`, which runs engine, migrations and collector as one process tree.
package collector
