// Package groupcommitprocessor joins the batches of concurrent callers into one call of the next consumer, as databases
// join concurrent commits into one write to disk. Behind it stands an exporter whose queue syncs every batch to disk
// before it answers: alone, a sync takes about as long for one record as for thousands.
//
// Nobody is answered before the next consumer has answered for the joined batch, and each caller gets that answer.
package groupcommitprocessor
