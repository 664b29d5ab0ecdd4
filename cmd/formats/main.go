package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 1 && args[0] == "split":
		err = split(context.Background(), os.Stdout)
	case len(args) > 1 && args[0] == "drift":
		err = drift(os.Stdout, args[1:])
	case len(args) > 2 && args[0] == "runs":
		err = runs(os.Stdout, args[1], args[2:])
	default:
		fmt.Fprintln(os.Stderr, "usage: formats split | formats runs PLOT-PREFIX RUN-DIRECTORY... | formats drift RUN-DIRECTORY...")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "formats:", err)
		os.Exit(1)
	}
}
