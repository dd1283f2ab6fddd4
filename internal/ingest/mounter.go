package ingest

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/component"
)

// Mounter is an extension that owns an HTTP listener on which receivers serve. Receivers look it up with
// [FindMounter] in their Start and unmount in their Shutdown, so that one port serves /v1/chunks,
// /v1/gateway and /v1/rum alike.
type Mounter interface {
	component.Component

	// Mount serves h for pattern: an absolute path, or with a final slash every path below it; the longest
	// pattern wins. The handler sees all methods, and bodies as they came: nothing was decompressed. The
	// returned function takes the route away again and may be called more than once; it waits for no
	// request. The error says which pattern was refused: malformed, or served already.
	Mount(pattern string, h http.Handler) (unmount func(), err error)

	// Addr is the bound address; nil before Start and after Shutdown.
	Addr() net.Addr
}

// ErrNoMounter is returned when the configured extension is missing or can't serve.
var ErrNoMounter = errors.New("no such ingest extension")

// FindMounter finds the extension a receiver's `ingest` setting names.
func FindMounter(host component.Host, id component.ID) (Mounter, error) {
	ext, ok := host.GetExtensions()[id]
	if !ok {
		return nil, fmt.Errorf("ingest: %w: %q; list it under service::extensions", ErrNoMounter, id)
	}
	m, ok := ext.(Mounter)
	if !ok {
		return nil, fmt.Errorf("ingest: %w: %q is a %T; name a fermata_ingest extension", ErrNoMounter, id, ext)
	}
	return m, nil
}
