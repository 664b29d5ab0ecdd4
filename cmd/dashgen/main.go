// Command dashgen makes a run that never happened, for tests of what shows runs. It is no part of furlong.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"furlong/dash/dashgen"
)

func main() {
	o := dashgen.Default()
	flag.IntVar(&o.Cycles, "cycles", o.Cycles, "cycles")
	flag.IntVar(&o.Groups, "groups", o.Groups, "prompts a cycle")
	flag.IntVar(&o.N, "n", o.N, "samples a prompt")
	flag.IntVar(&o.Tokens, "tokens", o.Tokens, "mean length of answers")
	flag.StringVar(&o.Bodies, "bodies", o.Bodies, "whose tokens are written: all or last:K")
	flag.Uint64Var(&o.Seed, "seed", o.Seed, "seed")
	flag.StringVar(&o.State, "state", o.State, "running, finished, stopped, failed, crashed or silent; running stays and holds the lock")
	flag.IntVar(&o.Keys, "keys", o.Keys, "series a row, 0 for about 150")
	flag.BoolVar(&o.Exact, "exact", false, "the gap is 0 throughout")
	flag.BoolVar(&o.One, "one", false, "a single row")
	flag.BoolVar(&o.Empty, "empty", false, "no row")
	flag.BoolVar(&o.Plain, "plain", false, "plant no faults")
	flag.BoolVar(&o.Pair, "pair", false, "five settings are others")
	rate := flag.Float64("rate", 0, "rows a second that are added afterwards")
	flag.Parse()
	if err := do(o, flag.Arg(0), *rate); err != nil {
		fmt.Fprintln(os.Stderr, "dashgen:", err)
		os.Exit(1)
	}
}

// do makes the run and, where it is to look alive, stays.
func do(o dashgen.Options, dir string, rate float64) error {
	if dir == "" {
		return fmt.Errorf("want a directory")
	}
	if err := dashgen.Make(dir, o); err != nil {
		return err
	}
	if o.State != "running" {
		return nil
	}
	release, err := dashgen.Hold(dir)
	if err != nil {
		return err
	}
	defer release()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt)
	if rate <= 0 {
		<-ended
		return nil
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for c := o.Cycles + 2; ; c++ {
		select {
		case <-ended:
			return nil
		case <-tick.C:
			if err := dashgen.Append(dir, c, 1, o.Keys); err != nil {
				return err
			}
		}
	}
}
