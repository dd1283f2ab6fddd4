//go:build unix && !linux

package engine

import "syscall"

// childAttr puts the child in a process group of its own. Without a parent-death signal the end of its standard input
// alone tells it that the parent is gone.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
