package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/api/sglang"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/intake"
	"furlong/checkpoint/pull"
	"furlong/rl"
)

// long is a request that runs until it is told to end.
const long = `{"input_ids":[40,5,6],"rid":%q,"sampling_params":{"max_new_tokens":240,"ignore_eos":true,"temperature":0}}`

// later asks in the background.
func (u *weightSite) later(body string) <-chan sglang.Answer {
	out := make(chan sglang.Answer, 1)
	go func() {
		_, raw := u.post("/generate", body)
		var a sglang.Answer
		_ = json.Unmarshal(raw, &a)
		out <- a
	}()
	return out
}

func (u *weightSite) running(n int) {
	u.Helper()
	u.eventually("running", func() bool { return u.engine.Stats().Running == n })
}

// A label is changed at once, with what runs going on or not.
func TestUpdateVersion(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	a := u.later(fmt.Sprintf(long, "kept"))
	u.running(1)
	var o sglang.Outcome
	u.ok("/update_weight_version", `{"new_version":"5","abort_all_requests":false}`, &o)
	if o.Version != "5" || u.version() != "5" || u.one(`{"input_ids":[1],"sampling_params":{"max_new_tokens":1}}`).Meta.WeightVersion != "5" {
		t.Errorf("%+v, weight_version is %q", o, u.version())
	}
	if got := <-a; got.Meta.Finish == nil || got.Meta.Finish.Type != "length" {
		t.Errorf("what ran ended with %+v", got.Meta.Finish)
	}
	a = u.later(fmt.Sprintf(long, "aborted"))
	u.running(1)
	u.done("/update_weight_version", `{"new_version":"6"}`)
	if got := <-a; got.Meta.Finish == nil || got.Meta.Finish.Type != "abort" || got.Meta.WeightVersion != "6" {
		t.Errorf("what ran ended with %+v", got.Meta)
	}
	u.denied("/update_weight_version", `{}`, 400, "new_version is missing")
}

// Answers that an update comes into have a span for each version, and are computed again or not as the pause says.
func TestSpans(t *testing.T) {
	for _, mode := range []string{"retract", "in_place"} {
		u := serveWeights(t, "fp8", nil)
		b := checkpointOf(t, u.root, "b", "fp8", 2, hf.Ref)
		a := u.later(fmt.Sprintf(long, "x"))
		u.eventually("some tokens", func() bool { return u.engine.Stats().DrawnTokens > 10 })
		u.ok("/pause_generation", fmt.Sprintf(`{"mode":%q}`, mode), nil)
		u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":"2","flush_cache":false}`, b))
		u.ok("/continue_generation", `{}`, nil)
		m := (<-a).Meta
		if s := m.WeightVersions; len(s) != 2 || s[0].Version != "default" || s[0].Start != 0 || s[0].End != s[1].Start || s[1].Version != "2" || s[1].End != 240 {
			t.Errorf("%s: spans are %v", mode, s)
		}
		if (m.Retractions > 0) != (mode == "retract") || m.WeightVersion != "2" {
			t.Errorf("%s: %d retractions, weight_version %q", mode, m.Retractions, m.WeightVersion)
		}
	}
}

// What runs while nothing is paused ends if the update says so, and is computed again if not.
func TestUpdateWhileRunning(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	b := fileOf(t, tensorsOf(t, checkpointOf(t, u.root, "b", "bf16", 2, hf.Ref)), nil)
	a := u.later(fmt.Sprintf(long, "x"))
	u.eventually("some tokens", func() bool { return u.engine.Stats().DrawnTokens > 10 })
	u.sent("?weight_version=2", b)
	if m := (<-a).Meta; m.Retractions != 1 || len(m.WeightVersions) != 2 {
		t.Errorf("%d retractions, spans %v", m.Retractions, m.WeightVersions)
	}
	before := u.engine.Stats().DrawnTokens
	a = u.later(fmt.Sprintf(long, "y"))
	u.eventually("some tokens", func() bool { return u.engine.Stats().DrawnTokens > before+10 })
	u.sent("?weight_version=3&abort_all_requests=true&flush_cache=false", b)
	if f := (<-a).Meta.Finish; f == nil || f.Type != "abort" {
		t.Errorf("it ended with %+v", f)
	}
	u.unsent("?abort_all_requests=perhaps", b, `abort_all_requests is "perhaps"`)
	u.unsent("?selector=draft", b, "there is no draft model")
}

// A fakeGroup broadcasts what lies in its queue.
type fakeGroup struct {
	queue  [][]byte
	closed bool
}

func (g *fakeGroup) Receive(_ context.Context, buffers [][]byte) error {
	for _, b := range buffers {
		if len(g.queue) == 0 || len(g.queue[0]) != len(b) {
			return errors.New("the trainer sent something else")
		}
		copy(b, g.queue[0])
		g.queue = g.queue[1:]
	}
	return nil
}

func (g *fakeGroup) Close() error { g.closed = true; return nil }

// announce returns the body that announces tensors.
func announce(ts []rl.Tensor, group string, prefix string, more string) string {
	in := struct {
		Names  []string `json:"names"`
		Dtypes []string `json:"dtypes"`
		Shapes [][]int  `json:"shapes"`
		Group  string   `json:"group_name"`
	}{Group: group}
	torch := map[string]string{"BF16": "bfloat16", "F32": "float32", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu", "I8": "int8", "I64": "int64", "I32": "int32"}
	for _, x := range ts {
		in.Names, in.Dtypes, in.Shapes = append(in.Names, x.Name), append(in.Dtypes, prefix+torch[x.Type]), append(in.Shapes, x.Shape)
	}
	raw, _ := json.Marshal(in)
	return strings.TrimSuffix(string(raw), "}") + `,"flush_cache":false` + more + "}"
}

// Buckets that a group broadcasts, a tensor at a time or in one buffer, are as an update from disk.
func TestGroups(t *testing.T) {
	groups := map[string]*fakeGroup{}
	u := serveWeights(t, "fp8+fp4", func(_ *Config, p *Parts) {
		p.Weights.Join = func(_ context.Context, g sglang.InitGroup) (Group, error) {
			if g.Port == 1 {
				return nil, errors.New("nobody is there")
			}
			groups[g.Name] = &fakeGroup{}
			return groups[g.Name], nil
		}
	})
	b := checkpointOf(t, u.root, "b", "fp8+fp4", 2, hf.Wire)
	u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":"b"}`, b))
	want := u.impression()
	u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":"a"}`, filepath.Join(u.root, "first")))
	before := u.impression()
	init := `{"master_address":"127.0.0.1","master_port":29511,"rank_offset":1,"world_size":2,"group_name":"g","backend":"gloo"}`
	u.done("/init_weights_update_group", init)
	u.denied("/init_weights_update_group", init, 400, "is there already")
	u.done("/destroy_weights_update_group", `{"group_name":"g"}`)
	if !groups["g"].closed {
		t.Error("the group was not left")
	}
	u.denied("/destroy_weights_update_group", `{"group_name":"g"}`, 400, "is not there")
	u.denied("/init_weights_update_group", strings.Replace(init, "29511", "1", 1), 400, `group "g": nobody is there`)
	u.done("/init_weights_update_group", init)

	ts := tensorsOf(t, b)
	g, half := groups["g"], len(ts)/2
	u.done("/begin_weight_update", `{}`)
	for _, x := range ts[:half] {
		g.queue = append(g.queue, x.Data)
	}
	u.done("/update_weights_from_distributed", announce(ts[:half], "g", "torch.", `,"weight_version":"2"`))
	var all []byte
	for _, x := range ts[half:] {
		all = append(all, x.Data...)
	}
	g.queue = append(g.queue, all)
	u.done("/update_weights_from_distributed", announce(ts[half:], "g", "", `,"load_format":"flattened_bucket"`))
	u.like("before the end", before, "a")
	u.done("/end_weight_update", `{}`)
	u.like("by broadcast", want, "2")

	// What is refused is received all the same: the others wait.
	bad := slices.Clone(ts[:1])
	bad[0].Shape = []int{len(bad[0].Data) / 4}
	g.queue = append(g.queue, bad[0].Data)
	u.denied("/update_weights_from_distributed", announce(bad, "g", "", ""), 400, "what was broadcast is dropped")
	if len(g.queue) != 0 {
		t.Error("a refused bucket was not received")
	}
	u.denied("/update_weights_from_distributed", announce(ts[:1], "other", "", ""), 400, `group "other" is not there`)
	u.denied("/update_weights_from_distributed", announce(ts[:1], "g", "", ""), 400, "the trainer sent something else")
	u.denied("/update_weights_from_distributed", `{"names":["a"],"dtypes":[],"shapes":[]}`, 400, "1 names, 0 dtypes")
	u.like("after refusals", want, "2")
}

// A folder follows what is published, and is then loaded; what is damaged leaves folder and weights alone.
func TestPullWeights(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	before := u.impression()
	local, source := filepath.Join(u.root, "local"), filepath.Join(u.root, "published")
	checkpointOf(t, source, "weight_v000001", "bf16", 2, hf.Wire)
	ask := func(local, source string, v int) string {
		return fmt.Sprintf(`{"local_checkpoint_dir":%q,"source_dir":%q,"target_version":%d}`, local, source, v)
	}
	u.done("/pull_weights", ask(local, source, 0))
	if got := tensorsOf(t, local); len(got) != len(tensorsOf(t, filepath.Join(u.root, "first"))) {
		t.Errorf("version 0 has %d tensors", len(got))
	}
	u.done("/pull_weights", ask(local, source, 1))
	if m := u.done("/pull_weights", ask(local, source, 1)); m != "version 1 is held already" {
		t.Errorf("again: %q", m)
	}
	u.like("after a pull", before, "default")
	u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":"1"}`, local))
	after := serveFrom(t, "bf16", u.root, filepath.Join(source, "weight_v000001"), nil).impression()
	u.like("after the update", after, "1")
	for _, tt := range []struct {
		body string
		want int
		says string
	}{
		{ask(local, source, 2), 400, "a version is missing"},
		{ask("/somewhere/else", source, 1), 403, "not below a folder"},
		{ask(local, "/etc", 1), 403, "not below a folder"},
		{ask("", source, 1), 400, "want one of this machine"},
		{ask(source, source, 1), 400, "is also what is read from"},
		{ask(filepath.Join(u.root, "first"), source, 1), 400, "is also what is read from"},
		{`{"local_checkpoint_dir":"/x"}`, 400, "target_version is missing"},
	} {
		u.denied("/pull_weights", tt.body, tt.want, tt.says)
	}
	if v, err := pull.Applied(local); v != 1 || err != nil {
		t.Errorf("version %d is held, %v", v, err)
	}
}

// sums returns the checksums of a server.
func (u *weightSite) sums(body string) map[string]string {
	u.Helper()
	var c sglang.Checked
	u.ok("/weights_checker", body, &c)
	if !c.Success || len(c.Ranks) != 1 || len(c.Ranks[0].Parallelism) != 1 || c.Ranks[0].Checksum != c.Checksum {
		u.Fatalf("%+v", c)
	}
	if raw, err := hex.DecodeString(c.Checksum); err != nil || len(raw) != 32 {
		u.Errorf("per_engine_checksum is %q", c.Checksum)
	}
	for name, sum := range c.Ranks[0].Checksums {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 8 {
			u.Errorf("checksum of %s is %q", name, sum)
		}
	}
	return c.Ranks[0].Checksums
}

// Checksums say what weights mean; noise is seen, not served, and gone after an update.
func TestWeightsChecker(t *testing.T) {
	u := serveWeights(t, "fp8+fp4", nil)
	first := filepath.Join(u.root, "first")
	sums, before := u.sums(`{"action":"checksum"}`), u.impression()
	if again := serveFrom(t, "fp8+fp4", u.root, first, nil).sums(`{"action":"checksum"}`); !maps.Equal(sums, again) {
		t.Error("a restart has other checksums")
	}
	unpacked := checkpointOf(t, u.root, "plain", "bf16", 1, hf.Ref)
	if p := serveFrom(t, "bf16", u.root, unpacked, nil).sums(`{"action":"checksum"}`); p["model.norm.weight"] != sums["model.norm.weight"] || maps.Equal(p, sums) {
		t.Error("an engine with other formats has the same checksums, or other norms")
	}
	if n := len(u.sums(`{"action":"checksum","skip_tensor_list":["experts.1.w2"]}`)); n != len(sums)-len(small().Layers) {
		t.Errorf("%d checksums, want those of down projections left out of %d", n, len(sums))
	}
	u.denied("/weights_checker", `{"action":"compare"}`, 400, "there is no snapshot")
	u.done("/weights_checker", `{"action":"snapshot"}`)
	u.done("/weights_checker", `{"action":"compare"}`)
	u.done("/weights_checker", `{"action":"reset_tensors"}`)
	u.denied("/weights_checker", `{"action":"compare"}`, 400, "parameters are not those of the snapshot: model.")
	for path, want := range map[string]int{"/health_generate": 503, "/health": 503} {
		if code, _ := u.call("GET", path, ""); code != want {
			t.Errorf("%s is %d over noise, want %d", path, code, want)
		}
	}
	if code, raw := u.post("/generate", `{"input_ids":[1],"sampling_params":{"max_new_tokens":1}}`); code < 500 {
		t.Errorf("noise answers %d %s", code, raw)
	}
	part := fileOf(t, tensorsOf(t, first), func(n string) bool { return strings.HasPrefix(n, "layers.1.") })
	u.unsent("", part, "nothing is held from which they could be taken")
	u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":"1"}`, first))
	u.done("/weights_checker", `{"action":"compare"}`)
	u.like("after the update", before, "1")
	if !maps.Equal(u.sums(`{"action":"checksum"}`), sums) {
		t.Error("checksums are others after the update")
	}
	if code, _ := u.call("GET", "/health_generate", ""); code != 200 {
		t.Errorf("/health_generate is %d after the update", code)
	}
	ts := tensorsOf(t, first)
	for i, x := range ts {
		if x.Name == "layers.0.attn.wo_b.weight" {
			ts[i].Data = bytes.Clone(x.Data)
			ts[i].Data[0] ^= 1 // the code beside it
		}
	}
	u.sent("", fileOf(t, ts, nil))
	u.denied("/weights_checker", `{"action":"compare"}`, 400, "1 of ")
	u.done("/weights_checker", `{"action":"compare","allow_quant_error":true}`)
	u.done("/weights_checker", `{"action":"compare","skip_tensor_list":["self_attn.o_b_proj"]}`)
	u.denied("/weights_checker", `{"action":"bogus"}`, 400, `action is "bogus"`)
}

// Memory is given back when nobody needs it; meanwhile requests are told to wait, and updates work.
func TestMemory(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	before := u.impression()
	first := filepath.Join(u.root, "first")
	null := func(path, body string) {
		t.Helper()
		if code, raw := u.post(path, body); code != 200 || string(raw) != "null" {
			t.Errorf("%s %s: %d %s, want null", path, body, code, raw)
		}
	}
	busy := u.later(fmt.Sprintf(long, "busy"))
	u.running(1)
	u.refused("/release_memory_occupation", `{}`, 400, "1 samples hold memory")
	u.ok("/abort_request", `{"abort_all":true}`, nil)
	<-busy
	u.refused("/release_memory_occupation", `{"tags":["kv"]}`, 400, "want one of [kv_cache weights cuda_graph]")
	for _, tags := range []string{`{}`, `{"tags":["weights"]}`, `{"tags":["kv_cache"]}`} {
		null("/release_memory_occupation", tags)
		null("/release_memory_occupation", tags)
		code, _ := u.call("GET", "/health", "")
		generate, _ := u.call("GET", "/health_generate", "")
		if code != 200 || generate != 503 {
			t.Errorf("%s: /health is %d, /health_generate %d", tags, code, generate)
		}
		u.refused("/generate", `{"input_ids":[1]}`, 503, "memory is released")
		u.ok("/pause_generation", `{"mode":"retract"}`, nil)
		u.eventually("flushed", func() bool { code, _ := u.call("GET", "/flush_cache", ""); return code == 200 })
		null("/resume_memory_occupation", `{"tags":["weights"]}`)
		u.done("/begin_weight_update", `{}`)
		u.sent("?weight_version=1", fileOf(t, tensorsOf(t, first), nil))
		u.done("/end_weight_update", `{}`)
		u.ok("/continue_generation", `{}`, nil)
		null("/resume_memory_occupation", `{"tags":["kv_cache","cuda_graph"]}`)
		null("/resume_memory_occupation", ``)
		u.like(tags, before, "1")
	}
}

// Who wants to write into a device's memory is told other ways.
func TestRemoteMemory(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	for _, path := range []string{"/parallelism_config?rank=0", "/get_remote_instance_transfer_engine_info?rank=0"} {
		if code, raw := u.call("GET", path, ""); code != 404 || !strings.Contains(string(raw), "/pull_weights") {
			t.Errorf("%s: %d %s", path, code, raw)
		}
	}
}

// A call waits for those before it, and not for ever.
func TestTurns(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	u.updates.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.next(ctx, func(context.Context) (string, error) { return "", nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	<-u.updates.turn
	if _, err := u.bucket(t.Context(), manner{}, func(x *intake.Session) error { return x.Put(nil) }); err == nil || !strings.Contains(err.Error(), "none of the tensors that came") {
		t.Errorf("an empty bucket: %v", err)
	}
	if _, err := newRoots([]string{filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
}

// Whatever a path is, it is refused or leads to a place below a root.
func FuzzRoots(f *testing.F) {
	root, outside := f.TempDir(), f.TempDir()
	r, err := newRoots([]string{root})
	if err != nil {
		f.Fatal(err)
	}
	for from, to := range map[string]string{"out": outside, "in": root, "up": "..", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			f.Fatal(err)
		}
	}
	for _, seed := range []string{"", "/x", "/out/x", "/in/in/in/x", "/up/x", "/loop/x", "/../x", "//in//./x", "/in/../../x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, p := range []string{path, root + path} {
			full, err := r.resolve(p)
			if err == nil && !below(r[0], full) {
				t.Errorf("%q leads to %q", p, full)
			}
			if err == nil && strings.HasPrefix(p, filepath.Join(root, "out")+"/") && filepath.Clean(p) == p {
				t.Errorf("%q leads in, to %q", p, full)
			}
		}
	})
}
