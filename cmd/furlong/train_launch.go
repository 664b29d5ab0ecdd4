package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"furlong/config"
	"furlong/launchline"
	"furlong/layout"
	"furlong/model/dsv4"
	"furlong/starter"
)

// lineFlags are what launch lines say around a run: where it would run, and with which variables.
type lineFlags struct {
	Dry    bool              `flag:"dry-run" help:"print what would run, shapes and memory, and run nothing; with --json as one JSON object"`
	Model  string            `flag:"model-name" help:"names the model's shape for a dry run that finds no config.json at --hf-checkpoint; else it selects nothing"`
	Env    map[string]string `flag:"extra-env-vars" help:"variables for the processes of a run on many machines"`
	Layout layout.Config     `group:"Machines and devices"`
}

// Validate refuses variables that hold keys, as the launch line's own flag for one is refused: a run writes down what it was told.
func (f *lineFlags) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		if holdsKey(name, f.Env[name]) {
			errs = append(errs, fmt.Errorf("--extra-env-vars holds %s, and every process of the machine can read a command line: want it in the environment", name))
		}
	}
	return errors.Join(errs...)
}

// holdsKey reports whether a variable is by its name a key, and no number.
func holdsKey(name, value string) bool {
	_, err := strconv.ParseFloat(value, 64)
	return err != nil && value != "" && slices.ContainsFunc([]string{"_KEY", "TOKEN", "SECRET", "PASSWORD"}, func(end string) bool {
		return strings.HasSuffix(strings.ToUpper(name), end)
	})
}

// Unheeded returns what does nothing in a run on the processor of one machine.
func (f *lineFlags) Unheeded() map[string]string {
	m := idle{}
	if f.Dry {
		return m
	}
	m.add("the model comes from --hf-checkpoint; names select nothing but the shape of a dry run", "model-name")
	m.add("no process is started that would read variables, and this one reads none of them", "extra-env-vars")
	switch f.Layout.Devices() {
	case 0:
		m.add("the processor computes, and there is one memory", "gpu-memory", "optimizer-offload", "optimizer-offload-fraction")
	case 1:
		m.add("the processor of this machine takes the place of one device", "num-gpus-per-node", "actor-num-gpus-per-node", "rollout-num-gpus",
			"gpu-memory", "optimizer-offload", "optimizer-offload-fraction")
	}
	return m
}

// registerLine lets set read launch lines of other programs: their flags, and the variables that come with them.
func (f *trainFlags) registerLine(set *config.Set, environ []string) *config.Set {
	set.Add("Run", &f.line).Presume(launchline.Presume)
	set.Also("context-length", "rollout-max-context-len").Also("rollout-url", "rollout-external-engine-addrs").Also("update-weight-dir", "update-weight-disk-dir")
	set.Bare("dump-details", "{debug-data-root}/{run-id}/dump_details").Accept(launchline.Options())
	read := launchline.Variables(environ, set.Knows)
	for _, v := range read.Flags {
		set.Below("variable "+v.Variable, v.Words...)
	}
	return launchline.Pass(set).Remark(read.Notes...)
}

// unclamped says that shared experts are not clamped. The published configuration clamps them; the published trainer says that it does not.
const unclamped = "no-activation-func-clamp-shared-expert"

// claims are the facts of a model that launch lines speak of.
func claims(c dsv4.Config) map[string]string {
	n := func(v any) string { return fmt.Sprint(v) }
	return map[string]string{
		"num-layers": n(len(c.Layers)), "hidden-size": n(c.Hidden), "ffn-hidden-size": n(c.ExpertDim), "num-attention-heads": n(c.Heads), "norm-epsilon": n(c.NormEps),
		"vocab-size": n(c.Vocab), "q-lora-rank": n(c.QRank), "kv-lora-rank": n(c.HeadDim), "qk-head-dim": n(c.HeadDim), "qk-pos-emb-head-dim": n(c.RopeDim), "v-head-dim": n(c.HeadDim),
		"rotary-scaling-factor": n(c.Yarn.Factor), "rotary-base": n(c.RopeTheta), "original-max-position-embeddings": n(c.Yarn.Original), "beta-fast": n(c.Yarn.BetaFast),
		"beta-slow": n(c.Yarn.BetaSlow), "num-experts": n(c.Experts), "moe-layer-freq": fmt.Sprintf("[1]*%d", len(c.Layers)), "moe-ffn-hidden-size": n(c.ExpertDim),
		"moe-router-topk": n(c.TopK), "moe-shared-expert-intermediate-size": n(c.ExpertDim), "moe-router-score-function": "sqrtsoftplus",
		"moe-router-topk-scaling-factor": n(c.RoutedFactor), "activation-func-clamp-value": n(c.Limit),
		"dsv4-hc-mult": n(c.Streams), "dsv4-hc-sinkhorn-iters": n(c.SinkhornIter), "dsv4-compress-rope-theta": n(c.CompressRopeTheta), "dsv4-o-groups": n(c.OGroups),
		"dsv4-o-lora-rank": n(c.ORank), "dsv4-n-hash-layers": n(hashed(c)), "dsv4-window-size": n(c.Window), "dsa-indexer-n-heads": n(c.IndexHeads),
		"dsa-indexer-head-dim": n(c.IndexDim), "dsa-indexer-topk": n(c.IndexTopK), "dsv4-compress-ratios": strings.Join(ratios(c), " "),
		unclamped: "",
	}
}

// hashed counts the layers whose tokens go to experts by a table.
func hashed(c dsv4.Config) (n int) {
	for _, l := range c.Layers {
		if l.Router == dsv4.Hash {
			n++
		}
	}
	return n
}

// ratios returns how many tokens an entry of each layer stands for, 0 where a layer has none.
func ratios(c dsv4.Config) (out []string) {
	for _, l := range c.Layers {
		rate := map[dsv4.AttentionKind]int{dsv4.C4: c.RateC4, dsv4.C128: c.RateC128}[l.Attention]
		out = append(out, fmt.Sprint(rate))
	}
	return out
}

// checkClaims holds what a launch line says of the model against it. The ratios of a line may have one more, that of a draft layer, which is not built.
func checkClaims(set *config.Set, c dsv4.Config) error {
	all := slices.Clone(set.Claims())
	for i, claim := range all {
		if said := strings.Fields(claim.Value); claim.Flag == "dsv4-compress-ratios" && len(said) == len(c.Layers)+1 {
			all[i].Value = strings.Join(said[:len(c.Layers)], " ")
		}
	}
	err := config.Check(all, claims(c))
	if c.LimitShared > 0 && slices.ContainsFunc(all, func(claim config.Claim) bool { return claim.Flag == unclamped }) {
		return errors.Join(err, fmt.Errorf("--%s: the model clamps its shared experts at %v; with swiglu_limit_shared 0 in its config.json it does not", unclamped, c.LimitShared))
	}
	return err
}

// hindrances are why a run cannot begin here, other than by what is in its files.
func (f *trainFlags) hindrances(set *config.Set) []error {
	var errs []error
	if n := f.line.Layout.Devices(); n > 1 {
		errs = append(errs, fmt.Errorf("%d devices are asked for (%s), and this build computes on the processor of one machine", n, f.asked(set)))
	}
	for _, n := range set.Lacks() {
		errs = append(errs, fmt.Errorf("--%s (%s) is not built in: %s", strings.TrimSpace(n.Flag+" "+n.Value), n.Origin, n.Why))
	}
	return append(errs, f.absent()...)
}

// asked names the flags by which devices are asked for, and where they stand.
func (f *trainFlags) asked(set *config.Set) string {
	var out []string
	for _, n := range set.Settings() {
		if slices.Contains([]string{"num-nodes", "num-gpus-per-node", "actor-num-nodes", "actor-num-gpus-per-node", "rollout-num-gpus"}, n.Name) && n.Origin != "default" {
			out = append(out, fmt.Sprintf("--%s %s: %s", n.Name, n, n.Origin))
		}
	}
	return strings.Join(out, "; ")
}

// absent names files of the run that are not there.
func (f *trainFlags) absent() []error {
	var errs []error
	missing := func(flag, path string) {
		if _, err := os.Stat(path); path != "" && err != nil {
			errs = append(errs, fmt.Errorf("--%s: %s is not there", flag, config.Quote(path)))
		}
	}
	if f.model.Checkpoint != "" {
		missing("hf-checkpoint", filepath.Join(f.model.Checkpoint, "config.json"))
	}
	if file, _, _ := strings.Cut(f.data.File, "@["); !strings.ContainsAny(file, "=,") { // a mix is told where it is read
		missing("prompt-data", file)
	}
	for i, path := range f.eval.Data {
		if i%2 == 1 {
			missing("eval-prompt-data", path)
		}
	}
	return errs
}

// begins refuses a run that cannot begin here, with everything that stands in its way.
func (f *trainFlags) begins(set *config.Set) error {
	if f.line.Layout.Devices() <= 1 && len(set.Lacks()) == 0 {
		return nil // what its files lack is told where they are read
	}
	return errors.Join(append(f.hindrances(set), advice("--dry-run, with the same flags, prints what would run"))...)
}

// shape returns the model's configuration without its weights, and where it comes from.
func (f *trainFlags) shape() (dsv4.Config, string, error) {
	raw, from := starter.Config, "the model inside the binary"
	if f.model.Checkpoint != "" {
		at := filepath.Join(f.model.Checkpoint, "config.json")
		var err error
		if raw, err = os.ReadFile(at); err == nil {
			from = at
		} else if raw, from = layout.Known(f.model.Checkpoint, f.line.Model); raw == nil {
			return dsv4.Config{}, "", fmt.Errorf("--hf-checkpoint: %w; --model-name DeepSeek-V4-Flash has a shape without files", err)
		}
	}
	c, err := dsv4.ReadConfig(raw)
	if err != nil {
		return dsv4.Config{}, "", fmt.Errorf("%s: %w", from, err)
	}
	return c, from, nil
}
