// Package resident gives memory back that a process holds but no longer needs: pages of the program and of libraries that only
// starting up, or something else that is rare, has read.
//
// They belong to files, so that the kernel could take them at any time, but while there is memory enough it does not: of a library of
// 560 MB some 200 MB stay mapped of which a running engine uses a quarter.
package resident
