package config_test

import (
	"errors"
	"fmt"
	"os"

	"furlong/config"
)

// Config is what a package can be told.
type Config struct {
	BatchSize int     `flag:"rollout-batch-size" help:"prompts per rollout step"`
	LR        float64 `flag:"lr" help:"learning rate"`
	UseTIS    bool    `flag:"use-tis" help:"cap the importance weight of each token"`
}

// Default is where to start from.
func Default() Config { return Config{BatchSize: 32, LR: 1e-6} }

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	if c.BatchSize < 1 {
		errs = append(errs, fmt.Errorf("--rollout-batch-size is %d, want at least 1", c.BatchSize))
	}
	if c.LR <= 0 {
		errs = append(errs, fmt.Errorf("--lr is %g, want more than 0", c.LR))
	}
	return errors.Join(errs...)
}

// elsewhere is a flag of another program.
var elsewhere = []config.Option{{
	Name: "tensor-model-parallel-size", Takes: config.One, Kind: config.Held, Only: []string{"1"}, Why: "there is one device",
}}

func Example() {
	c := Default()
	set := config.New("train", "Trains.").Add("Training", &c).Accept(elsewhere)
	err := set.Parse([]string{"--lr", "1.5e-4", "--use-tis", "--tensor-model-parallel-size", "1"})
	fmt.Println(c, err)
	set.PrintText(os.Stdout)
	// Output:
	// {32 0.00015 true} <nil>
	// SETTING             ORIGIN   VALUE
	// rollout-batch-size  default  32
	// lr                  flag     0.00015
	// use-tis             flag     true
	//
	// SO IN ANY CASE                ORIGIN  WHY
	// tensor-model-parallel-size 1  flag    there is one device
}

func ExampleSet_Parse_errors() {
	c := Default()
	set := config.New("train", "Trains.").Add("Training", &c).Accept(elsewhere)
	fmt.Println(set.Parse([]string{"--lr", "0", "--batch-size", "64", "--tensor-model-parallel-size", "8"}))
	// Output:
	// unknown flag --batch-size, did you mean --rollout-batch-size?
	// --tensor-model-parallel-size is 8, want 1: there is one device
	// --lr is 0, want more than 0
}
