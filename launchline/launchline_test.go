package launchline

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"furlong/config"
)

var name = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Every row has what the page of flags and the complaints need.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range Options() {
		switch {
		case seen[o.Name]:
			t.Errorf("--%s is in the table twice", o.Name)
		case !name.MatchString(o.Name), o.Why == "", o.Section == "":
			t.Errorf("row %+v: want a name, a reason and a section", o)
		case o.Kind == config.Expands != (len(o.Senses) > 0):
			t.Errorf("--%s is %v with %d senses", o.Name, o.Kind, len(o.Senses))
		}
		seen[o.Name] = true
	}
}

// The rows of one flag, by value: what asks for nothing passes, what asks for something does not.
func TestFates(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--use-mlflow --mlflow-run-name T", "noted use-mlflow mlflow-run-name"},
		{"--no-use-fault-tolerance", "noted no-use-fault-tolerance"},
		{"--lora-rank 0", "so lora-rank"},
		{"--lora-rank 8", "missing lora-rank"},
		{"--lora-rank 8 --lora-rank 0", "so lora-rank"},
		{"--lora-rank 0 --lora-rank=8", "missing lora-rank"},
		{"--lora-rank None", "so lora-rank"},
		{"--fp16", "--fp16 cannot be obeyed: float16 is no format of weights here; --dtype has bf16 and f32"},
		{"--no-fp16", "so no-fp16"},
		{"--optimizer sgd", "--optimizer is sgd, want adam: AdamW is the optimizer"},
		{"--lr-wsd-decay-style linear", "so lr-wsd-decay-style"},
		{"--lr-wsd-decay-style cosine", "--lr-wsd-decay-style is cosine, want linear: the last leg of --lr-decay-style WSD goes down linearly"},
		{"--no-bf16", "--no-bf16 is false, want true: the format of weights and products is --dtype, bf16 by default"},
		{"--custom-rm-path a.b", "--custom-rm-path a.b cannot be obeyed: it names Python code, and none runs here; --custom-rm-command runs a program of yours, --rm-url asks a server"},
		{"--mode fast", "--mode is fast, want normal or debug_minimal"},
		{"--wandb-key sesame", "--wandb-key cannot be obeyed: a key on a command line can be read by every process of the machine, and by whoever reads the log: the client reads WANDB_API_KEY"},
		{"--sglang-max-runing-requests 3", "unknown flag --sglang-max-runing-requests, did you mean --sglang-max-running-requests?"},
		{"--sglang-new-thing 3 4 --sglang-other --no-sglang-third", "noted sglang-new-thing sglang-other no-sglang-third"},
		{"--sglang-enable-metrcis", "noted sglang-enable-metrcis"}, // what was meant has no effect either
		{"--sglang-enable-loar", "unknown flag --sglang-enable-loar, did you mean --sglang-enable-lora?"},
		{"--sglang-", "unknown flag --sglang-"},
		{"--router-new-thing 3", "noted router-new-thing"},
		{"--sglan-new-thing 3", "unknown flag --sglan-new-thing"},
		{"--use-tensorboard=maybe", `--use-tensorboard is "maybe", want true or false`},
		{"--task gsm8k", "--task needs --data-dir"},
		{"--dsv4-compress-ratios 0 4", "claims dsv4-compress-ratios 0 4"},
	} {
		var c struct {
			Running int `flag:"sglang-max-running-requests" help:"requests"`
		}
		set := config.New("train", "").Add("All", &c).Layered("").Accept(Options())
		Pass(set)
		if got := fate(set, set.Parse(strings.Fields(tt.args))); got != tt.want && !(strings.HasPrefix(tt.want, "unknown") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %s, want %s", tt.args, got, tt.want)
		}
	}
}

// fate says in words what became of a command line: the first complaint, or what was read.
func fate(set *config.Set, err error) string {
	if err != nil {
		return config.Problems(err)[0].Error()
	}
	words := map[string][]string{}
	for _, n := range set.Notes() {
		kind := map[bool]string{false: "noted", true: "so"}[n.Held]
		words[kind] = append(words[kind], n.Flag)
	}
	for _, n := range set.Lacks() {
		words["missing"] = append(words["missing"], n.Flag)
	}
	for _, c := range set.Claims() {
		words["claims"] = append(words["claims"], c.Flag, c.Value)
	}
	var out []string
	for _, kind := range []string{"noted", "so", "missing", "claims"} {
		if words[kind] != nil {
			out = append(out, kind+" "+strings.Join(words[kind], " "))
		}
	}
	return strings.Join(out, "; ")
}

func TestPresume(t *testing.T) {
	for _, tt := range []struct{ flags, want, loop string }{
		{"", "", ""},
		{"lr num-rollout rollout-batch-size", "", ""},
		{"num-nodes rollout-num-nodes=2", "", ""},
		{"mode num-nodes", Launch, ""},
		{"enable-eval", Launch, ""},
		{"mode num-nodes=8 rollout-num-nodes=4", Launch4, "--loop one-step-off"},
		{"mode num-nodes=4 rollout-num-nodes=0", Launch4, ""},
		{"mode num-nodes=8 rollout-num-nodes=2 num-rollout", Launch, "--loop one-step-off"},
		{"mode actor-num-nodes context-length", Reference, ""},
		{"mode actor-num-nodes rollout-num-nodes=2", Reference, "--loop one-step-off"},
		{"num-layers experimental-attention-variant mode", Arguments, ""},
		{"experimental-attention-variant rollout-num-gpus=32", Arguments, "--loop one-step-off"},
		{"experimental-attention-variant rollout-num-gpus=32 colocate", Arguments, ""},
	} {
		got := Presume(func(flag string) (string, bool) {
			for _, f := range strings.Fields(tt.flags) {
				if name, value, _ := strings.Cut(f, "="); name == flag {
					return value, true
				}
			}
			return "", false
		})
		if got.Recipe != tt.want || (got.Why == "") != (got.Recipe == "") || strings.Join(got.Flags, " ") != tt.loop || (got.Origin == "") != (tt.loop == "") {
			t.Errorf("Presume(%s) = %+v, want %q and why, and %q", tt.flags, got, tt.want, tt.loop)
		}
	}
}

func TestVariables(t *testing.T) {
	isFlag := func(name string) (known, isSwitch bool) {
		return name == "num-nodes" || name == "enable-eval", name == "enable-eval"
	}
	got := Variables([]string{
		"MILES_SCRIPT_NUM_NODES=4", "FURLONG_NUM_NODES=2", "MILES_SCRIPT_ENABLE_EVAL=0", "MILES_SCRIPT_EXTERNAL_RAY=1", "MILES_SCRIPT_NUM_NODE=9", "MILES_SCRIPT_MODE=",
		"RAY_ADDRESS=http://head:8265", "MASTER_ADDR=10.0.0.1", "FURLONG_TEST_PYTHON=python3", "HOME=/root", "MILES_SCRIPT_ENABLE_RAY_SUBMIT=0",
	}, isFlag)
	want := []VariableFlag{
		{"MILES_SCRIPT_ENABLE_EVAL", []string{"--enable-eval=false"}},
		{"MILES_SCRIPT_ENABLE_RAY_SUBMIT", []string{"--dry-run"}},
		{"MILES_SCRIPT_NUM_NODES", []string{"--num-nodes=4"}},
		{"FURLONG_NUM_NODES", []string{"--num-nodes=2"}},
	}
	if !reflect.DeepEqual(got.Flags, want) {
		t.Errorf("flags are %v, want %v", got.Flags, want)
	}
	var notes []string
	for _, n := range got.Notes {
		notes = append(notes, n.Flag+"="+n.Value+": "+n.Why)
	}
	wantNotes := []string{
		"MILES_SCRIPT_EXTERNAL_RAY=1: no Ray is started or stopped", "MILES_SCRIPT_NUM_NODE=9: --num-node is no flag",
		"RAY_ADDRESS=http://head:8265: " + noRay, "MASTER_ADDR=10.0.0.1: " + noRay,
	}
	if fmt.Sprint(notes) != fmt.Sprint(wantNotes) {
		t.Errorf("notes are\n%s\nwant\n%s", strings.Join(notes, "\n"), strings.Join(wantNotes, "\n"))
	}
}
