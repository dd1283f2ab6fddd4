// Package litellm translates LiteLLM's standard_logging_object, the record that its success and failure
// callbacks hand out, into gateway records. README.md has LiteLLM's configuration and the field mapping.
//
// The object carries prompts and answers; they are skipped while reading and never copied.
package litellm
