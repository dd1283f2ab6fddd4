package engine

import "syscall"

// childAttr puts the child in a process group of its own, so that a terminal's Ctrl-C reaches the supervisor only and
// the order of stopping stays ours, and has the kernel kill it when the thread that made it ends.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
