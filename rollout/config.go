package rollout

import (
	"errors"
	"fmt"

	"furlong/kv"
	"furlong/quant"
)

// Config is what the rollout engine can be told. The zero value is not usable; start from Default.
type Config struct {
	MaxRunning    int    `flag:"sglang-max-running-requests,max-running-requests" help:"samples that are generated at a time"`
	MaxQueued     int    `flag:"max-queued-requests,sglang-max-queued-requests" help:"samples that may wait for a place; further ones are refused. 0 for any number"`
	Context       int    `flag:"context-length,sglang-context-length" help:"prompt plus response, in tokens"`
	PrefillTokens int    `flag:"sglang-chunked-prefill-size,chunked-prefill-size" help:"prompt tokens computed in one pass, beside the samples that go on"`
	TotalTokens   int    `flag:"sglang-max-total-tokens,max-total-tokens" help:"tokens whose attention state fits in memory; 0 for as many as all running samples can need"`
	RecentTokens  int    `flag:"rollout-recent-tokens" help:"tokens whose short-lived attention state fits in memory (windows, open compressor blocks); 0 for twice what all running samples can need"`
	PageTokens    int    `flag:"sglang-page-size,page-size" help:"tokens of a page of attention state, rounded up to whole compressor blocks"`
	Format        string `flag:"rollout-format" choices:"bf16 fp8 fp8+fp4 fp8-weights fp8+fp4-weights" help:"how the rollout engine holds projections and experts: bf16 leaves them in --dtype; fp8 in blocks of 128x128, fp8+fp4 with experts in FP4, their inputs rounded to FP8; -weights rounds no inputs"`
	KV            string `flag:"rollout-kv-format,sglang-kv-cache-dtype,kv-cache-dtype" choices:"auto fp8_e4m3" help:"what attention state keeps of a row: auto all of it, fp8_e4m3 its unrotated part rounded in groups of 64"`
	NoSharing     bool   `flag:"sglang-disable-radix-cache,disable-radix-cache" help:"compute every prompt anew, even if one with the same beginning was seen"`
	Experts       bool   `flag:"enable-return-routed-experts,sglang-enable-return-routed-experts" help:"keep which experts each token went to beside its attention state, for requests that ask for it"`
	Entries       bool   // keep which compressed entries each token read where an indexer chooses, for requests that ask for it
	UpdateMode    string `flag:"pause-generation-mode" choices:"retract abort in_place" help:"what becomes of samples in flight when weights change: computed again, ended, or gone on with on the old attention state"`
	CheckUpdates  bool   `flag:"check-weight-update-equal" help:"at each update of weights also derive everything into fresh memory, and compare bit for bit; train also overwrites the engine with noise before it begins, updates it, and compares"`
}

// Default returns the settings of the reference recipe.
func Default() Config {
	return Config{MaxRunning: 64, Context: 4096, PrefillTokens: 512, PageTokens: 16, Format: "bf16", KV: "auto", UpdateMode: Retract.String()}
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	atLeast := func(least int, flag string, value int) {
		if value < least {
			errs = append(errs, fmt.Errorf("--%s is %d, want at least %d", flag, value, least))
		}
	}
	atLeast(1, "sglang-max-running-requests", c.MaxRunning)
	atLeast(0, "max-queued-requests", c.MaxQueued)
	atLeast(2, "context-length", c.Context)
	atLeast(1, "sglang-chunked-prefill-size", c.PrefillTokens)
	atLeast(0, "sglang-max-total-tokens", c.TotalTokens)
	atLeast(0, "rollout-recent-tokens", c.RecentTokens)
	atLeast(1, "sglang-page-size", c.PageTokens)
	if _, err := quant.ParseRecipe(c.Format); c.Format != "" && err != nil {
		errs = append(errs, fmt.Errorf("--rollout-format: %w", err))
	}
	if _, err := ParseMode(c.UpdateMode); err != nil {
		errs = append(errs, fmt.Errorf("--pause-generation-mode: %w", err))
	}
	return errors.Join(errs...)
}

// recipe returns the format of the weights.
func (c Config) recipe() (quant.Recipe, error) {
	if c.Format == "" {
		return quant.Recipe{}, nil
	}
	return quant.ParseRecipe(c.Format)
}

// pages returns how many recent and lasting pages c asks for.
func (c Config) pages(l kv.Layout) (recents, lastings int, err error) {
	recents, lastings = l.Pages(c.RecentTokens), l.Pages(c.TotalTokens)
	if c.RecentTokens == 0 {
		recents = 2 * (c.MaxRunning*l.Recent(1) + l.Pages(c.PrefillTokens))
	}
	if c.TotalTokens == 0 {
		lastings = c.MaxRunning * l.Pages(c.Context)
	}
	if least := l.Recent(1); recents < least {
		return 0, 0, fmt.Errorf("--rollout-recent-tokens is %d, want at least %d: windows reach %d tokens back", c.RecentTokens, least*l.Page, l.Reach)
	}
	return recents, lastings, nil
}

// mode returns what becomes of samples when weights change.
func (c Config) mode() Mode {
	m, _ := ParseMode(c.UpdateMode) // Validate has looked
	return m
}
