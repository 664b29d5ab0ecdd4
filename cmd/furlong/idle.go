package main

// Flags that change nothing beside others, and why. Package config complains of those that somebody typed.
type idle map[string]string

// add gives flags a reason; the first that a flag is given counts.
func (m idle) add(why string, flags ...string) {
	for _, f := range flags {
		if m[f] == "" {
			m[f] = why
		}
	}
}

// Idle returns what changes nothing in the arithmetic of the backend.
func (f modelFlags) Idle() map[string]string {
	if f.Backend == "ref" {
		return idle{"threads": "--backend ref computes on one"}
	}
	return nil
}

// Idle returns what changes nothing in a run.
func (t *together) Idle() map[string]string {
	m, f := idle{}, t.f
	if f.run.Dir != "" {
		m.add("--run-dir names the directory", "run-id")
	}
	t.idleAlgorithm(m)
	t.idleGather(m)
	t.idleDebug(m)
	if f.reward.Buffer == 0 {
		m.add("--overlong-buffer-len is 0", "overlong-penalty-factor")
	}
	evaluates := f.eval.name(f.data) != ""
	if !evaluates {
		m.add("nothing is evaluated without --eval-prompt-data", "n-samples-per-eval-prompt", "eval-seed", "eval-url",
			"eval-temperature", "eval-top-p", "eval-top-k", "eval-max-response-len")
		if f.loop.EvalEvery != 0 { // 0, like --skip-eval-before-train, asks for what is so
			m.add("nothing is evaluated without --eval-prompt-data", "eval-interval")
		}
	}
	if f.data.File != "" && !evaluates {
		m.add("nothing is evaluated without --eval-prompt-data", "eval-problems")
	}
	f.idleServers(m)
	f.idleData(m, f.data.File != "")
	f.idleSampling(m, true, evaluates)
	return m
}

// evaluates is furlong eval's view of flags that furlong train has too.
type evaluates struct{ f *trainFlags }

// Idle returns what changes nothing in an evaluation by itself.
func (e *evaluates) Idle() map[string]string {
	m := idle{}
	m.add("an evaluation is of --eval-prompt-data", "prompt-data")
	m.add("an evaluation goes through its problems once", "rollout-shuffle")
	m.add("weights are given once, before the first sample", "pause-generation-mode")
	e.f.idleData(m, false)
	e.f.idleSampling(m, false, true)
	return m
}

// readsFile are the flags that say how a file of prompts is read.
var readsFile = []string{
	"input-key", "label-key", "metadata-key", "tool-key", "apply-chat-template", "apply-chat-template-kwargs", "rollout-max-prompt-len", "allow-empty-labels",
	"drop-duplicate-prompts", "max-line-bytes", "prompt-data-memory", "prompt-data-workers",
}

// idleData adds what changes nothing about data. fromFile says that a file of prompts is sampled from.
func (f *trainFlags) idleData(m idle, fromFile bool) {
	if !f.eval.files() {
		m.add("there is no --eval-prompt-data", "eval-input-key", "eval-label-key")
	}
	if fromFile {
		return
	}
	m.add("there is no --prompt-data", "rollout-shuffle")
	if !f.eval.files() {
		m.add("no file of prompts is read", readsFile...)
	}
	if f.eval.InputKey != "" {
		m.add("--eval-input-key takes its place", "input-key")
	}
	if f.eval.LabelKey != "" {
		m.add("--eval-label-key takes its place", "label-key")
	}
}

// idleSampling adds what changes nothing about how responses are drawn: all but temperature and length where none is drawn at a temperature above 0, and in an
// evaluation by itself what has a setting of its own there.
func (f *trainFlags) idleSampling(m idle, trains, evaluates bool) {
	const greedy = "temperature 0 takes the likeliest token"
	own := f.eval.sample(f.sample)
	if !trains {
		given(m, f.eval.Temperature, "eval-temperature", "rollout-temperature")
		given(m, f.eval.TopP, "eval-top-p", "rollout-top-p")
		given(m, f.eval.TopK, "eval-top-k", "rollout-top-k")
		given(m, f.eval.MaxTokens, "eval-max-response-len", "rollout-max-response-len")
	}
	if evaluates && own.Temperature == 0 {
		m.add(greedy, "eval-top-p", "eval-top-k")
	}
	rolls, evals := trains && f.sample.Temperature > 0, evaluates && own.Temperature > 0
	for flag, apart := range map[string]bool{"rollout-top-p": f.eval.TopP != nil, "rollout-top-k": f.eval.TopK != nil, "rollout-min-p": false} {
		if !rolls && (!evals || apart) {
			m.add(greedy, flag)
		}
	}
}

// given adds a flag whose place another takes, if that is there.
func given[T any](m idle, value *T, by, flag string) {
	if value != nil {
		m.add("--"+by+" takes its place", flag)
	}
}

// Idle returns what changes nothing in supervised training.
func (s *imitation) Idle() map[string]string {
	m := idle{}
	m.add("--response-key names what is imitated", "label-key")
	m.add("examples are taken in the order of their file", "rollout-shuffle")
	if s.m.Checkpoint != "" {
		m.add("the weights are those of --hf-checkpoint", "seed")
	}
	if s.d.File != "" {
		m.add("examples come from --prompt-data", "data-seed", "num-examples", "teacher-forgets")
		return m
	}
	m.add("there is no --prompt-data", append([]string{"response-key"}, readsFile...)...)
	return m
}
