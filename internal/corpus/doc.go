// Package corpus makes labelled material for tests of detectors: the public-report cases, generators of texts
// that loop and of texts that only look so, and legitimate text found on the machine a test runs on. Nothing
// outside tests imports it.
package corpus
