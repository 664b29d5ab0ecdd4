package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"furlong/config"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/oracle"
)

// oracleOptions say what is checked, and what computes.
type oracleOptions struct {
	Dir     string `arg:"DIR" help:"directory of reference vectors"`
	Backend string `flag:"backend" choices:"cpu ref" help:"what computes the float32 side: the engines' backend, or the plain reference"`
	Threads int    `flag:"threads" help:"processor threads; 0 takes all"`
	NoWide  bool   `flag:"no-float64" help:"leave the float64 side out: faster, and only float32's limits are checked"`
}

// Validate reports what is wrong with o, in the words of the flags.
func (o oracleOptions) Validate() error { return checkThreads(o.Threads) }

func runOracle(ctx context.Context, e *env) int {
	var quiet talk
	opts := oracleOptions{Backend: "cpu"}
	set := config.New("oracle", "Checks model, engines, optimizer and number formats against a directory of reference vectors (docs/formats/oracle.md).")
	set.Add("Flags", &opts, &quiet)
	set.Example("furlong oracle oracle/testdata/vectors", "checks this build against the vectors of the repository")
	if code, ok := e.parse(set); !ok {
		return code
	}
	fast, closeFast := backend(opts.Backend, opts.Threads)
	defer closeFast()
	o := oracle.Options{Fast: fast, Progress: func(stage string) {
		if !quiet.Quiet {
			fmt.Fprintln(e.stderr, "checking", stage)
		}
	}}
	if !opts.NoWide {
		o.Reference = ref.New[float64]()
	}
	rep, err := oracle.Run(ctx, opts.Dir, o)
	if err != nil {
		return e.fail(err)
	}
	return e.printOracle(rep)
}

// backend returns the backend of a name, and what ends it.
func backend(name string, threads int) (kernels.Backend, func()) {
	if name == "ref" {
		return ref.New[float32](), func() {}
	}
	begin := time.Now()
	b := cpu.Open(cpu.Options{Threads: threads, Now: func() time.Duration { return time.Since(begin) }})
	return b, b.Close
}

// printOracle writes a line for each check, and all of it as JSON in the last.
func (e *env) printOracle(rep *oracle.Report) int {
	for _, c := range rep.Checks {
		fmt.Fprintln(e.stdout, c)
	}
	if err := json.NewEncoder(e.stdout).Encode(rep); err != nil {
		return e.fail(err)
	}
	if !rep.OK {
		return exitFailed
	}
	return exitOK
}
