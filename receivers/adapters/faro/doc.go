// Package faro reads the bodies that the Grafana Faro web SDK posts to a collector's /collect, and takes the streamed
// answers out of them. Faro knows nothing of streams: a page pushes one as an event or a measurement named
// [StreamName] whose attributes are the fields of a stream of POST /v1/rum. Session, page, app, browser and trace come
// from what Faro says of itself. Everything else in a body is counted and left alone.
//
// The shape of a body: https://github.com/grafana/faro-web-sdk, getTransportBody in packages/core, checked against
// recorded bodies of version 2.12.1 in testdata.
package faro
