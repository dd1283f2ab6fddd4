// Package clickhouseexporter writes Fermata's records into ClickHouse: the last stage of the pipeline.
//
// A batch of log records (see package streamlog) that ConsumeLogs has accepted lies in the sending queue; with a storage
// extension and its fsync that is on disk, so that a receiver may answer 2xx. From there it goes, gathered with others into
// batches of thousands, as one insert of native columns for each table. Inserts are repeated until they succeed; rows
// that come twice are equal in identity and version, which the tables' engine and every read take as one.
package clickhouseexporter
