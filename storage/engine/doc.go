// Package engine runs the embedded ClickHouse: libchdb, loaded by a child process that is this program itself,
// started again, and served on loopback over ClickHouse's native protocol. To the rest of Fermata it is a
// ClickHouse server like any other; nothing but this package knows that it lives in a library.
//
// A program that embeds the engine calls [MaybeRunChild] first thing in main (and in TestMain): in the child it
// never returns. [Start] then supervises the child: it holds the data folder's lock, waits until the engine
// answers, restarts it with back-off when it dies, and stops it. The child ends with its parent, even when the
// parent is killed.
//
// # Who may log in
//
// libchdb has one user without a password. Its only session is taken by the start-up query, which never ends, and it
// is granted nothing but that query; so nobody can log in as it. The user fermata may do everything, reader may only
// read. Both have random passwords made at the first start and kept in the data folder, readable by the owner alone.
//
// # Files in the data folder
//
//	lock              held by the supervisor and its child; names the supervisor's process
//	credentials.json  users and passwords, mode 0600
//	config.xml        generated at each start; don't edit
//	users.xml         generated at each start; don't edit
//	store/            ClickHouse's own files
//	log/              the engine's log, size-limited
package engine
