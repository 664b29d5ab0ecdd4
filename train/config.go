package train

import (
	"errors"
	"fmt"
	"math"

	"furlong/quant"
	"furlong/train/loss"
	"furlong/train/optim"
)

// Config is what the training engine can be told. The zero value is not usable; start from Default.
type Config struct {
	MaxTokens  int    `flag:"max-tokens-per-gpu" help:"tokens of a micro-batch; a longer sequence gets one of its own"`
	Recompute  bool   `flag:"recompute" help:"keep only each layer's input and compute the rest again for the gradient: less memory, a third more work"`
	Format     string `flag:"actor-format" choices:"bf16 fp8 fp8+fp4 fp8-weights fp8+fp4-weights" help:"how the actor holds projections and experts: bf16 leaves them in --dtype; fp8 in blocks of 128x128, fp8+fp4 with experts in FP4, their inputs rounded to FP8; -weights rounds no inputs. Masters stay float32, gradients pass straight through"`
	KV         string `flag:"actor-kv-format" choices:"auto fp8_e4m3" help:"what the actor's attention reads of a row: auto all of it, fp8_e4m3 what a rollout engine keeps with --rollout-kv-format fp8_e4m3; gradients pass straight through"`
	FreezeGate bool   `flag:"moe-router-freeze-gate" help:"do not train the routers"`
	MaxLength  int    // longest response allowed; seq-mean-token-sum-norm divides by it
	Planned    int    // steps that the run will take, for schedules without an end of their own
	Steps      int    // optimizer steps into which a batch is cut
	Tell       bool   // fill TrainExperts of samples, also where nothing is replayed

	Replay Replay
	Critic CriticConfig
	Loss   loss.Config
	Optim  optim.Config
}

// Default returns the settings of the reference recipe.
func Default() Config {
	return Config{MaxTokens: 2048, Format: "bf16", KV: "auto", FreezeGate: true, MaxLength: 1024, Steps: 1, Loss: loss.Default(), Optim: optim.Default()}
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	if c.MaxTokens < 1 {
		errs = append(errs, fmt.Errorf("--max-tokens-per-gpu is %d, want at least 1", c.MaxTokens))
	}
	if _, err := quant.ParseRecipe(c.Format); err != nil {
		errs = append(errs, fmt.Errorf("--actor-format: %w", err))
	}
	if c.Loss.Agg == loss.SeqSumNorm && c.MaxLength < 1 {
		errs = append(errs, fmt.Errorf("--loss-agg %s divides by the longest response allowed, which is %d, want at least 1", c.Loss.Agg, c.MaxLength))
	}
	if c.Loss.Type == "sft_loss" && c.Replay != (Replay{}) {
		errs = append(errs, errors.New("--loss-type is sft_loss, want no replay: nothing recorded what the tokens of examples chose"))
	}
	return errors.Join(append(errs, c.checkSteps(), c.Loss.Validate(), c.Optim.Validate())...)
}

// checkSteps reports what is wrong with the steps of a cycle and of the critic.
func (c Config) checkSteps() error {
	var errs []error
	if c.Steps < 1 {
		errs = append(errs, fmt.Errorf("--num-steps-per-rollout is %d, want at least 1", c.Steps))
	}
	if c.Critic.Only < 0 || c.Critic.Warmup < 0 {
		errs = append(errs, fmt.Errorf("--num-critic-only-steps is %d and --critic-lr-warmup-iters %d, want 0 or more", c.Critic.Only, c.Critic.Warmup))
	}
	switch lr := c.Critic.LR; {
	case !(lr >= 0) || math.IsInf(lr, 0):
		errs = append(errs, fmt.Errorf("--critic-lr is %v, want 0 (as --lr) or more", lr))
	case lr != 0 && lr < c.Optim.MinLR:
		errs = append(errs, fmt.Errorf("--critic-lr is %v, want at least --min-lr (%v)", lr, c.Optim.MinLR))
	}
	if c.Critic.Only > 0 && !c.Loss.HasCritic() {
		errs = append(errs, fmt.Errorf("--num-critic-only-steps is %d with --advantage-estimator %s, which has no critic: want 0", c.Critic.Only, c.Loss.Estimator))
	}
	return errors.Join(errs...)
}

// Idle returns the flags that change nothing as c stands, and why.
func (c Config) Idle() map[string]string {
	if c.Loss.HasCritic() {
		return nil
	}
	why := "--advantage-estimator is " + c.Loss.Estimator + ", which has no critic"
	return map[string]string{"critic-lr": why, "critic-lr-warmup-iters": why, "num-critic-only-steps": why}
}

// planned returns the number of steps that the actor will take.
func (c Config) planned() int { return c.Planned - c.Critic.Only*c.Steps }
