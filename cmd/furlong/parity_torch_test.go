package main

import (
	"os"
	"testing"

	"furlong/parity"
	"furlong/remote/transformers"
)

// The PyTorch reference and this binary's trainer hold one policy: short sequences, of which the indexer reads everything, agree up to
// float32 rounding; longer ones up to ties. A mistake in the trainer is found with the reference as the side that is right.
//
// The library sums by the widest vectors of the processor, so that its logprobs are others on another machine: the largest gap of short sequences was below
// parity.RoundingLimit with AVX2 and 2.003e-5 with AVX-512. What has to hold everywhere is the verdict, which looks at every op then, and the reference vectors' tolerance.
func TestTorchParity(t *testing.T) {
	python := os.Getenv("FURLONG_TEST_TORCH_PYTHON")
	if python == "" {
		t.Skipf("FURLONG_TEST_TORCH_PYTHON is not set: NOT COMPARED with the transformers library; it wants a Python after: %s", transformers.Install("python3"))
	}
	right := withConfig(t, `"sliding_window": 16`, `"sliding_window": 16`)
	for _, tt := range []struct {
		name    string
		lengths []int
		trainer string // checkpoint
		code    int
		kind    parity.Kind
		where   string
		most    parity.Figure // nats
	}{
		{"short", []int{40, 33, 12}, right, exitOK, parity.Rounding, "", 5e-5},
		{"long", []int{300, 150}, right, exitOK, parity.Rounding, "", 10}, // where scores of the indexer are all 0, the library takes other entries
		{"mistaken", []int{40}, withConfig(t, `"sliding_window": 16`, `"sliding_window": 17`), exitFailed, parity.Differs, "layer 0, attn_mix", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, code, says := compares(t, "hf:"+right, "trainer:checkpoint="+tt.trainer, "--python", python, "--ignore", "config", "--sequences", long(t, tt.lengths...))
			if code != tt.code || rep == nil {
				t.Fatalf("exit code is %d, want %d: %s", code, tt.code, says)
			}
			v, gap := rep.Verdict, rep.Comparisons[0].Gap
			if v.Kind != tt.kind || v.Where != tt.where || gap.NonFinite > 0 || !(gap.Max <= tt.most) {
				t.Errorf("%s at %q, largest gap %v nats, want %s at %q and at most %v: %+v", v.Kind, v.Where, gap.Max, tt.kind, tt.where, tt.most, v)
			}
		})
	}
}
