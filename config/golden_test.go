package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

// commandLine reads a command line from testdata, in a shell's spelling.
func commandLine(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := scan(string(text), true)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, w := range list {
		out = append(out, w.text)
	}
	return out
}

// launchLine has the flags of the published launch line.
type launchLine struct {
	RunID             string            `flag:"run-id" help:"name of the run"`
	Mode              string            `flag:"mode" help:"normal or debug_minimal"`
	EnableEval        bool              `flag:"enable-eval" help:"evaluate"`
	NumNodes          int               `flag:"num-nodes" help:"machines"`
	ActorNumNodes     int               `flag:"actor-num-nodes" help:"machines that train"`
	RolloutNumNodes   int               `flag:"rollout-num-nodes" help:"machines that roll out"`
	NumRollout        int               `flag:"num-rollout" help:"cycles"`
	StepsPerRollout   int               `flag:"num-steps-per-rollout" help:"optimizer steps a cycle"`
	RolloutBatchSize  int               `flag:"rollout-batch-size" help:"prompts a cycle"`
	SamplesPerPrompt  int               `flag:"n-samples-per-prompt" help:"samples a prompt"`
	ContextLength     int               `flag:"context-length,sglang-context-length" help:"prompt plus response, tokens"`
	MaxResponse       int               `flag:"rollout-max-response-len" help:"longest response, tokens"`
	MaxTokens         int               `flag:"max-tokens-per-gpu" help:"tokens a micro-batch"`
	MaxRunning        int               `flag:"sglang-max-running-requests" help:"requests at once"`
	MaxTotal          int               `flag:"sglang-max-total-tokens" unit:"count" help:"tokens in pages"`
	Tensor            int               `flag:"tensor-model-parallel-size" help:"ranks"`
	Pipeline          int               `flag:"pipeline-model-parallel-size" help:"ranks"`
	LastStageLayers   int               `flag:"decoder-last-pipeline-num-layers" help:"layers of the last stage"`
	Context           int               `flag:"context-parallel-size" help:"ranks"`
	Expert            int               `flag:"expert-model-parallel-size" help:"ranks"`
	ExpertTensor      int               `flag:"expert-tensor-parallel-size" help:"ranks"`
	Env               map[string]string `flag:"extra-env-vars" help:"variables"`
	UseTIS            bool              `flag:"use-tis" help:"cap importance weights"`
	UseRolloutLogProb bool              `flag:"use-rollout-logprobs" help:"not in the line"`
}

func TestReferenceRunParses(t *testing.T) {
	var c launchLine
	set := New("train", "").Add("All", &c).Layered("").Accept(Options)
	if err := set.Parse(commandLine(t, "reference-run.txt")[1:]); err != nil {
		t.Fatal(err)
	}
	if len(c.Env) != 8 {
		t.Errorf("%d variables, want 8: %v", len(c.Env), c.Env)
	}
	if got, want := c.Env["TORCH_NCCL_DESYNC_DEBUG"], "1"; got != want {
		t.Errorf("the variable after a line break is %q, want %q", got, want)
	}
	var b bytes.Buffer
	if err := set.PrintText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "reference-run.golden", b.Bytes())
}

// On one machine the same line is refused, with every reason at once.
func TestReferenceRunOnOneMachine(t *testing.T) {
	set := New("train", "").Layered("").Accept(Options)
	var b bytes.Buffer
	for _, p := range Problems(set.Parse(commandLine(t, "reference-run.txt")[1:])) {
		fmt.Fprintln(&b, p)
	}
	golden(t, "reference-run-refused.golden", b.Bytes())
}

func TestArgumentListOnOneMachine(t *testing.T) {
	set := New("train", "").Layered("").Accept(Options)
	if err := set.Parse(commandLine(t, "argument-list.txt")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := set.PrintText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "argument-list.golden", b.Bytes())
	if n := len(set.Claims()); n != 36 {
		t.Errorf("%d claims about the model, want 36", n)
	}
}

func TestPrintAndHelp(t *testing.T) {
	_, set := newEvery()
	set.Example("furlong test --switch", "with the switch")
	if err := set.Parse([]string{"--top-p", "inf", "--time", "90", "--env", "A=1", "--idle", "x"}); err != nil {
		t.Fatal(err)
	}
	for name, print := range map[string]func(*bytes.Buffer) error{
		"print.golden": func(b *bytes.Buffer) error { return set.PrintText(b) },
		"json.golden":  func(b *bytes.Buffer) error { return set.PrintJSON(b) },
		"flags.golden": func(b *bytes.Buffer) error { return set.PrintFlags(b) },
		"help.golden":  func(b *bytes.Buffer) error { return set.PrintHelp(b) },
	} {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}
