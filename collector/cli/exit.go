// Package cli holds what the commands of the fermata binary share: their exit codes.
//
// 0: done. 1: failed. 2: wrong usage. 3: the thing asked for does not exist. Scripts rely on them.
package cli

import (
	"errors"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// Exit codes of the fermata binary.
const (
	CodeOK       = 0
	CodeFailed   = 1
	CodeUsage    = 2
	CodeNotFound = 3
)

type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// Usage marks err as a wrong use of the command line.
func Usage(err error) error { return coded(CodeUsage, err) }

// NotFound marks err as "what was asked for does not exist".
func NotFound(err error) error { return coded(CodeNotFound, err) }

func coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code: code, err: err}
}

// ExitCode maps the error a command returned to the process's exit code. Errors without a mark are failures.
func ExitCode(err error) int {
	if err == nil {
		return CodeOK
	}
	var c *codedError
	if errors.As(err, &c) {
		return c.code
	}
	return CodeFailed
}

// Message is err for a terminal: what others wrote into it (an id, a file's name, a server's answer) can't move the cursor.
func Message(err error) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, err.Error())
}

// Strict makes wrong flags and arguments of cmd usage errors and keeps cobra from printing usage after a failure.
func Strict(cmd *cobra.Command) *cobra.Command {
	cmd.SilenceUsage = true
	cmd.SilenceErrors = true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	if args := cmd.Args; args != nil {
		cmd.Args = func(c *cobra.Command, a []string) error { return Usage(args(c, a)) }
	}
	return cmd
}
