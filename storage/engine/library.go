package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// LibraryEnv names the environment variable that gives the path of libchdb.so.
const LibraryEnv = "FERMATA_LIBCHDB"

const libraryFile = "libchdb.so"

// ErrNoLibrary is returned by FindLibrary, wrapped in a message that says what to do.
var ErrNoLibrary = errors.New("the ClickHouse engine (libchdb.so) was not found")

// FindLibrary returns the absolute path of libchdb.so. An explicit path (a flag or setting) or FERMATA_LIBCHDB
// must exist; otherwise it is looked for beside the executable and in ../lib, in node_modules/@chdb/… and
// .cache/engine/node_modules/@chdb/… of the executable's folder, of the working directory and of every folder
// above them, in the user's cache folder, and in the system's library folders.
func FindLibrary(explicit string) (string, error) {
	if explicit != "" {
		return mustExist(explicit, "--libchdb")
	}
	if env := os.Getenv(LibraryEnv); env != "" {
		return mustExist(env, LibraryEnv)
	}
	for _, p := range libraryPlaces() {
		if isFile(p) {
			return filepath.Abs(p)
		}
	}
	return "", fmt.Errorf("%w: run `make engine` in the Fermata checkout (it installs npm @chdb/lib-linux-%s-gnu "+
		"into .cache/engine), or name an existing libchdb.so with --libchdb or %s, "+
		"or use a ClickHouse server of your own with --clickhouse DSN", ErrNoLibrary, npmArch(), LibraryEnv)
}

func mustExist(p, from string) (string, error) {
	if !isFile(p) {
		return "", fmt.Errorf("%w: %s names %s, which is not a file", ErrNoLibrary, from, p)
	}
	return filepath.Abs(p)
}

func isFile(p string) bool {
	st, err := os.Stat(p) //nolint:gosec // the user names the library
	return err == nil && st.Mode().IsRegular()
}

// libraryPlaces lists the candidates in the order they are tried.
func libraryPlaces() []string {
	pkg := filepath.Join("node_modules", "@chdb", "lib-linux-"+npmArch()+"-gnu", libraryFile)
	var out []string
	var roots []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dir := filepath.Dir(exe)
		out = append(out, filepath.Join(dir, libraryFile), filepath.Join(dir, "..", "lib", libraryFile),
			filepath.Join(dir, "..", "lib", "fermata", libraryFile))
		roots = append(roots, dir)
	}
	if wd, err := os.Getwd(); err == nil {
		roots = append(roots, wd)
	}
	for _, dir := range roots {
		for {
			out = append(out, filepath.Join(dir, ".cache", "engine", pkg), filepath.Join(dir, pkg))
			up := filepath.Dir(dir)
			if up == dir {
				break
			}
			dir = up
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(cache, "fermata", "engine", pkg), filepath.Join(cache, "fermata", libraryFile))
	}
	for _, dir := range []string{"/usr/local/lib", "/usr/lib", "/usr/local/lib/fermata", "/usr/lib/fermata", "/opt/fermata/lib"} {
		out = append(out, filepath.Join(dir, libraryFile))
	}
	for dir := range strings.SplitSeq(os.Getenv("LD_LIBRARY_PATH"), ":") {
		if dir != "" {
			out = append(out, filepath.Join(dir, libraryFile))
		}
	}
	return out
}

func npmArch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}
