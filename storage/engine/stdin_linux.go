package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// replaceStdin makes standard input a terminal that nobody types on, and returns the one it was, and a function that
// types the word that makes the engine leave, until it has.
//
// Up to 26.8 clickhouse-local ends the whole process when any connection's handler throws (a wrong password, an unknown
// database, a port scanner's junk), unless it believes that a person sits in front of it: only then does it leave out
// its KillingErrorHandler (ClickHouse issue 115666, fixed by pull request 115715). It believes so when standard input
// is a terminal and --interactive is given; the start-up query still runs first, and a prompt comes only when it was
// cancelled. What the engine writes to the terminal (echo, prompt, progress) is read and thrown away: a terminal that
// nobody reads is full after some 100 progress lines, and blocks the engine's main thread for good.
func replaceStdin() (parent *os.File, leave func(), err error) {
	old, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, fmt.Errorf("keep standard input: %w", err)
	}
	// Both ends stay open until the process ends: a terminal without its other end reads as closed.
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a terminal: /dev/ptmx: %w", err)
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	slave, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	if err := unix.Dup3(slave, 0, 0); err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			if _, err := unix.Read(master, buf); err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	typeExit := func() {
		// Reading starts with throwing away what was typed before.
		for {
			_, _ = unix.Write(master, []byte("exit\n"))
			time.Sleep(20 * time.Millisecond)
		}
	}
	return os.NewFile(uintptr(old), "parent"), typeExit, nil
}
