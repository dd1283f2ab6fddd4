// Package arrivals tells up to which second of arrival the rows of a table are all there to be read.
//
// A row is stamped (inserted_at) when its insert begins and becomes visible when that ends. So whoever reads tables by the
// time of arrival, and never looks back, may read a second once it is over and no insert that began in it still runs.
package arrivals
