package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

func isScale(name string) bool {
	return strings.HasSuffix(name, ".scale") && !strings.HasSuffix(name, "_hc.scale") || strings.HasSuffix(name, "_scale_inv")
}

// A server that is updated from disk is one that was started there: in each format, back and forth, and under the names of either family.
func TestUpdateFromDisk(t *testing.T) {
	for _, format := range engineFormats {
		u := serveWeights(t, format, nil)
		a := filepath.Join(u.root, "first")
		b := checkpointOf(t, u.root, "b", format, 2, hf.Ref)
		wire := checkpointOf(t, u.root, "wire", format, 2, hf.Wire)
		first := u.impression()
		second := serveFrom(t, format, u.root, b, nil).impression()
		if first == second {
			t.Fatal("both checkpoints answer alike")
		}
		for i, step := range []struct{ dir, want string }{{a, first}, {b, second}, {a, first}, {wire, second}, {a, first}, {a, first}, {b, second}} {
			label := fmt.Sprint(i)
			var o struct {
				Paused *int `json:"num_paused_requests"`
			}
			u.ok("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":%q}`, step.dir, label), &o)
			if o.Paused == nil || *o.Paused != 0 {
				t.Errorf("num_paused_requests is %v, want 0", o.Paused)
			}
			u.like(fmt.Sprint(format, ", step ", i), step.want, label)
		}
		if *u.path.Load() != b || *u.name.Load() != "tiny" {
			t.Errorf("the server serves %q from %q", *u.name.Load(), *u.path.Load())
		}
	}
}

// The engine holds the same after a stream, a folder, a file and an address; two buckets split pairs; scales come as bytes.
func TestWaysOfBuckets(t *testing.T) {
	for _, format := range engineFormats {
		u := serveWeights(t, format, nil)
		b := checkpointOf(t, u.root, "b", format, 2, hf.Wire)
		ts := tensorsOf(t, b)
		u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q}`, b))
		want, state := u.impression(), u.engine.Attestation().State
		whole := fileOf(t, ts, nil)
		if err := os.WriteFile(filepath.Join(u.root, "bucket"), whole, 0o666); err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) }))
		defer web.Close()
		raw := slices.Clone(ts)
		for i := range raw {
			if raw[i].Type == "F8_E8M0" {
				raw[i].Type = "U8"
			}
		}
		for name, send := range map[string]func(){
			"stream": func() { u.sent("?weight_version=way", whole) },
			"bytes":  func() { u.sent("?weight_version=way", fileOf(t, raw, nil)) },
			"file": func() {
				u.done("/update_weights_from_tensor", fmt.Sprintf(`{"load_format":"safetensors","uri":"file://%s/bucket","weight_version":"way"}`, u.root))
			},
			"address": func() {
				u.done("/update_weights_from_tensor", fmt.Sprintf(`{"load_format":"safetensors","uri":%q,"weight_version":"way"}`, web.URL))
			},
			"two buckets": func() {
				u.done("/begin_weight_update", `{"selector":"all"}`)
				u.sent("?weight_version=no", fileOf(t, ts, isScaleNot))
				if format != "bf16" {
					u.sent("", fileOf(t, ts, isScale))
				}
				u.done("/update_weight_version", `{"new_version":"way","abort_all_requests":false}`)
				if got := u.version(); got == "way" {
					t.Error("the label changed before the weights")
				}
				u.done("/end_weight_update", `{}`)
			},
			"older calls": func() {
				u.done("/post_process_weights", `{"restore_weights_before_load":true}`)
				u.sent("?weight_version=way", whole)
				u.done("/post_process_weights", `{"post_process_quantization":true}`)
			},
		} {
			u.done("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"weight_version":"between"}`, filepath.Join(u.root, "first")))
			send()
			u.like(format+", "+name, want, "way")
			if got := u.engine.Attestation().State; got != state {
				t.Errorf("%s, %s: state is %v, want %v", format, name, got, state)
			}
		}
	}
}

func isScaleNot(name string) bool { return !isScale(name) }

// Numbers that a BF16 trainer sends to a quantised engine are packed as loading its checkpoint packs them.
func TestNumbersForCodes(t *testing.T) {
	u := serveWeights(t, "fp8+fp4", nil)
	plain := checkpointOf(t, u.root, "plain", "bf16", 2, hf.Wire)
	message := u.sent("?weight_version=1", fileOf(t, tensorsOf(t, plain), nil))
	if !strings.Contains(message, " packed;") && !strings.Contains(message, " packed") {
		t.Errorf("message is %q", message)
	}
	u.like("packed", serveFrom(t, "fp8+fp4", u.root, plain, nil).impression(), "1")
}

// Sessions open once and close once; in between the old weights are served, and what is refused changes nothing.
func TestSessions(t *testing.T) {
	u := serveWeights(t, "fp8", nil)
	before := u.impression()
	b := tensorsOf(t, checkpointOf(t, u.root, "b", "fp8", 2, hf.Ref))
	u.denied("/end_weight_update", `{}`, 400, "no session is open")
	u.done("/begin_weight_update", ``)
	u.denied("/begin_weight_update", `{}`, 400, "a session is open already")
	u.sent("?weight_version=1", fileOf(t, b, nil))
	u.like("before the end", before, "default")
	u.done("/end_weight_update", ``)
	after := u.impression()
	if after == before {
		t.Fatal("nothing changed")
	}
	u.like("after the end", after, "1")
	u.denied("/end_weight_update", `{}`, 400, "no session is open")
	u.denied("/begin_weight_update", `{"selector":"draft"}`, 400, "there is no draft model")
	u.denied("/begin_weight_update", `{"selector":"some"}`, 400, `selector is "some"`)

	for _, tt := range []struct {
		name string
		keep func(string) bool
		want string
	}{
		{"no scales", isScaleNot, "(its scales are missing)"},
		{"scales alone", isScale, "(only its scales came)"},
		{"one of a pair", func(n string) bool { return strings.HasPrefix(n, "layers.0.attn.wkv.") }, "came without model.layers.0.self_attn.q_a_proj.weight"},
		{"an expert is missing", func(n string) bool { return !strings.Contains(n, "layers.1.ffn.experts.2.w1.") }, "first layers.1.ffn.experts.2.w1.weight"},
	} {
		u.done("/begin_weight_update", `{}`)
		u.sent("?weight_version=bad", fileOf(t, b, tt.keep))
		u.denied("/end_weight_update", `{}`, 400, tt.want)
		u.like(tt.name, after, "1")
		u.denied("/end_weight_update", `{}`, 400, "no session is open")
	}
	u.done("/begin_weight_update", `{}`)
	u.unsent("", []byte("no tensors, just text"), "body: header is")
	u.unsent("", fileOf(t, b, nil), "an earlier bucket was refused")
	u.denied("/end_weight_update", `{}`, 400, `weights "1" are served on`)
	u.like("a spoilt session", after, "1")

	u.done("/begin_weight_update", `{}`)
	u.done("/update_weight_version", `{"new_version":"empty","abort_all_requests":false}`)
	if m := u.done("/end_weight_update", `{}`); !strings.Contains(m, "no weights came") {
		t.Errorf("an empty session: %q", m)
	}
	u.like("an empty session", after, "empty")
}

// What did not come stays, is counted, and tensors without a place are named; a strict server refuses them.
func TestPartsAndStrangers(t *testing.T) {
	u := serveWeights(t, "fp8", nil)
	before := u.impression()
	b := tensorsOf(t, checkpointOf(t, u.root, "b", "fp8", 2, hf.Ref))
	b = append(b, rl.Tensor{Name: "layers.0.attn.k_scale", Type: "F32", Shape: []int{}, Data: make([]byte, 4)})
	half := func(n string) bool { return strings.HasPrefix(n, "layers.1.") || strings.HasSuffix(n, "k_scale") }
	m := u.sent("?weight_version=half", fileOf(t, b, half))
	if !strings.Contains(m, "kept as they were") || !strings.Contains(m, "1 unknown left out (layers.0.attn.k_scale)") {
		t.Errorf("message is %q", m)
	}
	mixed := u.impression()
	u.sent("?weight_version=rest", fileOf(t, b, func(n string) bool { return !half(n) }))
	u.like("both halves", serveFrom(t, "fp8", u.root, filepath.Join(u.root, "b"), nil).impression(), "rest")
	if mixed == before || mixed == u.impression() {
		t.Error("the half changed nothing, or everything")
	}

	strict := serveWeights(t, "fp8", func(c *Config, _ *Parts) { c.StrictSessions = true })
	strict.unsent("?weight_version=1", fileOf(t, b, nil), "no session is open")
	strict.denied("/post_process_weights", `{"post_process_quantization":true}`, 400, "no session is open")
	strict.done("/begin_weight_update", `{}`)
	strict.unsent("", fileOf(t, b, nil), `tensor "layers.0.attn.k_scale": is F32[], which the model has no place for`)
	strict.denied("/end_weight_update", `{}`, 400, "k_scale")
	strict.like("after refusals", before, "default")
	u.done("/post_process_weights", `{"post_process_quantization":true}`)
}

// A NaN is found before the weights serve.
func TestNaN(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	before := u.impression()
	ts := tensorsOf(t, checkpointOf(t, u.root, "b", "bf16", 2, hf.Ref))
	for i, x := range ts {
		if x.Name == "head.weight" {
			ts[i].Data[2], ts[i].Data[3] = 0xc0, 0x7f
		}
	}
	u.unsent("?weight_version=nan", fileOf(t, ts, nil), `tensor "head.weight": has numbers that are NaN or infinite: 1`)
	u.like("after a NaN", before, "default")
	if code, _ := u.call("GET", "/health_generate", ""); code != 200 {
		t.Errorf("/health_generate is %d", code)
	}
}

// Nothing outside of the roots is read, and nothing that is wrong changes the weights.
func TestPaths(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	before := u.impression()
	outside := checkpointOf(t, t.TempDir(), "outside", "bf16", 2, hf.Ref)
	inside := checkpointOf(t, u.root, "inside", "bf16", 2, hf.Ref)
	for from, to := range map[string]string{"link": outside, "nowhere": "/nonexistent/at/all"} {
		if err := os.Symlink(to, filepath.Join(u.root, from)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(u.root, "linked")
	if err := os.Mkdir(linked, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "model.safetensors"), filepath.Join(linked, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		outside: 403, "/": 403, "/etc": 403, "/nonexistent": 403, filepath.Join(u.root, "link"): 403, filepath.Join(u.root, "nowhere"): 403, linked: 403,
		u.root + "/../..": 403, filepath.Join(u.root, "nothing"): 400, "": 400, "relative": 403, "a\\u0000b": 400, u.root: 400,
	} {
		u.denied("/update_weights_from_disk", `{"weight_version":"bad","model_path":"`+path+`"}`, want, "")
	}
	for uri, want := range map[string]int{
		"file://" + outside + "/model.safetensors": 403, "file:///etc/passwd": 403, "http://example.invalid/x": 403, "http://10.1.2.3/x": 403, "http://127.0.0.1:1/x": 400,
		"ftp://localhost/x": 400, "": 400, "%zz": 400, "file://other/x": 400, "file://" + inside: 400, u.url + "/server_info": 400, u.url + "/nowhere": 400,
	} {
		u.denied("/update_weights_from_tensor", fmt.Sprintf(`{"load_format":"safetensors","uri":%q}`, uri), want, "")
	}
	u.denied("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q,"load_format":"pickle"}`, inside), 400, `load_format is "pickle"`)
	u.like("after bad paths", before, "default")
	if err := os.Remove(filepath.Join(inside, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	u.denied("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q}`, inside), 400, "has neither model.safetensors nor")
	u.like("after an empty folder", before, "default")
}

// A redirection leads nowhere that may not be asked.
func TestRedirection(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	web := httptest.NewServer(http.RedirectHandler("http://10.1.2.3/secret", http.StatusFound))
	defer web.Close()
	code, o := u.outcome(u.post("/update_weights_from_tensor", fmt.Sprintf(`{"load_format":"safetensors","uri":%q}`, web.URL)))
	if code != 403 || !strings.Contains(o.Message, "10.1.2.3") {
		t.Errorf("%d %s", code, o.Message)
	}
}

// What is not taken here says which ways there are.
func TestOtherTransports(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	u.denied("/update_weights_from_tensor", `{"serialized_named_tensors":["gASVAAAAAAAAAA=="]}`, 400, "/update_weights_from_stream")
	u.denied("/update_weights_from_tensor", `{"serialized_named_tensors":["x"],"load_format":"flattened_bucket"}`, 400, "/pull_weights")
	u.denied("/update_weights_from_ipc", `{"zmq_handles":{}}`, 400, "/update_weights_from_disk")
	u.denied("/init_weights_update_group", `{"master_address":"127.0.0.1","master_port":29511,"rank_offset":1,"world_size":2,"group_name":"g","backend":"nccl"}`, 400, `backend "nccl"`)
	u.denied("/init_weights_update_group", `{"master_address":"127.0.0.1","master_port":29511,"rank_offset":2,"world_size":2}`, 400, "rank_offset is 2 of world_size 2")
	u.denied("/destroy_weights_update_group", `{"group_name":"g"}`, 400, `group "g" is not there`)
	u.denied("/update_weights_from_distributed", `{"names":["head.weight"],"dtypes":["torch.bogus"],"shapes":[[2]],"group_name":"g"}`, 400, `dtype is "torch.bogus"`)
	u.denied("/update_weights_from_distributed", `{"names":["head.weight"],"dtypes":["bfloat16"],"shapes":[[2,2]],"group_name":"g"}`, 400, "is BF16[2 2], want BF16[272 16]")
	code, raw := u.post("/load_lora_adapter", `{"lora_name":"x","lora_path":"/x"}`)
	if code != 400 || !strings.Contains(string(raw), `"success":false,"error_message":"lora_name is`) || !strings.Contains(string(raw), `"loaded_adapters":{}`) {
		t.Errorf("%d %s", code, raw)
	}
	if code, _ := u.call("GET", "/update_weights_from_stream", ""); code != 405 {
		t.Errorf("GET is %d, want 405", code)
	}
	fixed := serve(t, engineConfig(), nil)
	fixed.refused("/begin_weight_update", `{}`, 400, "the weights of this server are fixed")
	fixed.refused("/pull_weights", `{}`, 400, "the weights of this server are fixed")
}

// A checkpoint whose configuration is another one's is refused.
func TestFits(t *testing.T) {
	u := serveWeights(t, "bf16", func(_ *Config, p *Parts) {
		p.Weights.Fits = func(dir string) error { return fmt.Errorf("%s: rope_theta is 5", filepath.Base(dir)) }
	})
	u.denied("/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q}`, filepath.Join(u.root, "first")), 400, `first: rope_theta is 5; weights "default" are served on`)
}

// rowsIn returns the numbers of a checkpoint's tensor.
func rowsIn(t *testing.T, dir, name string) *tensor.Tensor {
	t.Helper()
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	x, err := src.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	return x.Clone()
}

// Rows are those of the tensor, under any of its names and whatever it is held as.
func TestWeightsByName(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	dir := filepath.Join(u.root, "first")
	for _, tt := range [][2]string{
		{"layers.1.ffn.experts.2.w3.weight", "layers.1.ffn.experts.2.w3.weight"},
		{"model.layers.1.mlp.experts.2.up_proj.weight", "layers.1.ffn.experts.2.w3.weight"},
		{"model.layers.0.self_attn.q_a_proj.weight", "layers.0.attn.wq_a.weight"},
	} {
		x := rowsIn(t, dir, tt[1])
		var got [][]float64
		u.ok("/get_weights_by_name", fmt.Sprintf(`{"name":%q,"truncate_size":3}`, tt[0]), &got)
		if len(got) != 3 || len(got[0]) != x.Dim() {
			t.Fatalf("%s: %d rows", tt[0], len(got))
		}
		for i, row := range got {
			for k, v := range row {
				if want := dtype.FromBF16(x.BF16()[i*x.Dim()+k]); float32(v) != want {
					t.Fatalf("%s[%d, %d] is %v, want %v", tt[0], i, k, v, want)
				}
			}
		}
	}
	var norm []float64
	u.ok("/get_weights_by_name", `{"name":"norm.weight"}`, &norm)
	if len(norm) != small().Hidden {
		t.Errorf("norm.weight has %d numbers", len(norm))
	}
	for _, tt := range [][2]string{{"no.such.weight", "no place for it"}, {"model.layers.1.mlp.experts.down_proj", "want the name of one"}, {"norm.scale", "without scales"}} {
		raw := u.refused("/get_weights_by_name", fmt.Sprintf(`{"name":%q}`, tt[0]), 400, tt[1])
		if !strings.HasPrefix(string(raw), `{"error":{"message":`) {
			t.Errorf("%s: %s", tt[0], raw)
		}
	}
	q := serveWeights(t, "fp8+fp4", nil)
	var scale, codes [][]float64
	q.ok("/get_weights_by_name", `{"name":"layers.0.attn.wkv.scale"}`, &scale)
	q.ok("/get_weights_by_name", `{"name":"layers.1.ffn.experts.2.w3.weight","truncate_size":1}`, &codes)
	if len(scale) != 1 || scale[0][0] <= 0 || len(codes) != 1 || len(codes[0]) != small().Hidden {
		t.Errorf("scales %v, codes %v", scale, codes)
	}
}
