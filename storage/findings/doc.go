// Package findings is the table of what went wrong in requests: one row for each state of a finding as
// delivered, of which the greatest version holds.
package findings
