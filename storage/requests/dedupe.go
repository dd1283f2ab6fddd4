package requests

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/streams"
)

// delivery is a record with its rank among the deliveries of its identity.
type delivery[R any] struct {
	record  R
	version uint64
	content []byte
}

// best keeps one delivery of each identity: that with the greatest version, as the tables do, and for equal
// versions that with the greater content. same compares identities; the result is in their order.
func best[R any](ds []delivery[R], identity func(a, b *R) int) []R {
	slices.SortFunc(ds, func(a, b delivery[R]) int {
		return cmp.Or(identity(&a.record, &b.record), -cmp.Compare(a.version, b.version), -bytes.Compare(a.content, b.content))
	})
	var out []R
	for i := range ds {
		if i == 0 || identity(&ds[i-1].record, &ds[i].record) != 0 {
			out = append(out, ds[i].record)
		}
	}
	return out
}

func dedupeStreams(in []wire.Stream) []wire.Stream {
	if len(in) < 2 {
		return in
	}
	ds := make([]delivery[wire.Stream], len(in))
	for i := range in {
		var row streams.Row
		streams.FromWire(&in[i], &row)
		ds[i] = delivery[wire.Stream]{in[i], row.Version, streams.Table.AppendContent(nil, &row)}
	}
	return best(ds, func(a, b *wire.Stream) int {
		return cmp.Or(compareStreamIdentity(a, b), cmp.Compare(a.Seq, b.Seq))
	})
}

// compareStreamIdentity compares all of the identity but the segment's number.
func compareStreamIdentity(a, b *wire.Stream) int {
	return cmp.Or(cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Attempt, b.Attempt),
		cmp.Compare(a.Emitter, b.Emitter), cmp.Compare(a.StartedAt, b.StartedAt))
}

func dedupeGateways(in []wire.Gateway) []wire.Gateway {
	if len(in) < 2 {
		return in
	}
	ds := make([]delivery[wire.Gateway], len(in))
	for i := range in {
		row := gateways.FromWire(&in[i])
		ds[i] = delivery[wire.Gateway]{in[i], row.Version, gateways.Table.AppendContent(nil, &row)}
	}
	return best(ds, func(a, b *wire.Gateway) int {
		return cmp.Or(cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.Emitter, b.Emitter), cmp.Compare(a.ReceivedAt, b.ReceivedAt))
	})
}

func dedupeClients(in []wire.Client) []wire.Client {
	if len(in) < 2 {
		return in
	}
	ds := make([]delivery[wire.Client], len(in))
	for i := range in {
		row := clients.FromWire(&in[i])
		ds[i] = delivery[wire.Client]{in[i], row.Version, clients.Table.AppendContent(nil, &row)}
	}
	return best(ds, func(a, b *wire.Client) int {
		return cmp.Or(cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.SessionID, b.SessionID),
			compareBool(a.Submit.OK, b.Submit.OK), cmp.Compare(a.Submit.V, b.Submit.V), cmp.Compare(a.Seq, b.Seq))
	})
}
