// Package requestpage shows one joined request as a plain page without any script: the timeline as the terminal draws it,
// the parts of what the user felt, and the findings with their numbers. It asks again by itself while the request runs, or is not
// known yet.
package requestpage
