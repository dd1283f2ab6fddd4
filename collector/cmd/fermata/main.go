// Command fermata observes streamed LLM answers; see README.md.
package main

import (
	"os"

	"github.com/fermata-io/fermata/collector"
)

func main() { os.Exit(collector.Main(os.Args[1:])) }
