package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"

	"furlong/bench"
	"furlong/config"
	"furlong/metrics/disk"
)

const benchPurpose = `Measures generation, scoring and training of a model with random weights, and how near they come to what this machine can do.

The machine's matrix rate (GFLOP/s) and copy rate (GB/s) are measured in the same run, with all threads, before each work and after the last; the best around a work counts. From them follows a
floor: the least time a work can take. A = parameters that work on a token (all but the embedding; of the routed experts, the chosen ones);
forward = 2*A operations a token, plus what attention and indexer multiply over the rows that they read. Score and prompts: forward over the matrix
rate. Train: three times forward. Decode: of each step the longer of its operations over the matrix rate and its bytes over the copy rate; bytes are
every weight that the batch touches, and the state that each sequence reads. "generate" counts new tokens over the whole time, prompts
included; "decode" is the same prompts again, from the prefix cache. "of floor" is the median run's share of the floor; "of floor then" holds each run of score and train
against the better of the matrix rates right before and right after it, and is the median of these shares: on a shared machine a second later is another machine. Every figure is the median of the runs, after one to warm up. Peak memory is
the largest resident set during a work.`

// benchOutput says where results go.
type benchOutput struct {
	Talk    talk
	JSON    bool   `flag:"json" help:"print one JSON object instead of tables"`
	Plot    string `flag:"plot" help:"file for an SVG of growth; needs --work growth"`
	Page    string `flag:"page" help:"Markdown page whose marked tables get these figures"`
	Threads int    `flag:"threads" help:"processor threads; 0 takes all"`
}

// Validate reports what is wrong with o, in the words of the flags.
func (o benchOutput) Validate() error { return checkThreads(o.Threads) }

func runBench(ctx context.Context, e *env) int {
	cfg, out := bench.Default(), benchOutput{}
	set := config.New("bench", benchPurpose).Add("What is measured", &cfg).Add("Flags", &out)
	set.Example("furlong bench", "the figures of docs/performance.md")
	set.Example("furlong bench --work growth --plot growth.svg", "time a token against the length of the sequence")
	set.Example("furlong bench --model mid --work train --train-shape 8x512 --json", "one work of another shape")
	args := e.args
	if code, ok := e.parse(set); !ok {
		return code
	}
	if out.Plot != "" && !slices.Contains(cfg.Work, bench.Growth) {
		fmt.Fprintf(e.stderr, "furlong bench: --plot is %q, want --work growth with it\n", out.Plot)
		return exitUsage
	}
	if err := checkPage(out.Page, cfg); err != nil {
		return e.fail(err)
	}
	rep, err := e.bench(ctx, cfg, out)
	if err != nil {
		return e.fail(err)
	}
	return e.fail(e.writeBench(rep, out, config.Quote(append([]string{"furlong", "bench"}, args...)...)))
}

func (e *env) bench(ctx context.Context, cfg bench.Config, out benchOutput) (*bench.Report, error) {
	if out.Threads <= 0 {
		out.Threads = runtime.GOMAXPROCS(0)
	}
	k, closeBackend := backend("cpu", out.Threads)
	defer closeBackend()
	line := e.follow("bench", "measurements", int64(bench.Measurements(cfg)), out.Talk)
	defer line.Finish()
	b := readBuild()
	return bench.Run(ctx, cfg, bench.Options{
		Backend: k, Threads: out.Threads, Build: bench.Build{Revision: b.Revision, Changed: b.Dirty, Go: b.Go},
		Progress: func(done int, what string) { line.Set(int64(done), what) },
	})
}

// writeBench prints a report and writes what else was asked for.
func (e *env) writeBench(r *bench.Report, out benchOutput, command string) error {
	if out.Plot != "" {
		if err := writePlot(r, out.Plot); err != nil {
			return err
		}
	}
	if out.Page != "" {
		if err := writePage(r, out.Page, command); err != nil {
			return err
		}
	}
	if out.JSON {
		return json.NewEncoder(e.stdout).Encode(r)
	}
	return r.Print(e.stdout)
}

// checkPage finds out before anything is measured whether the page has room for it.
func checkPage(path string, cfg bench.Config) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := bench.CheckPage(string(text), cfg); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writePlot(r *bench.Report, path string) error {
	return disk.ReplaceBytes(path, []byte(r.Growth.SVG()))
}

func writePage(r *bench.Report, path, command string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := r.Page(string(text), command)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return disk.ReplaceBytes(path, []byte(page))
}
