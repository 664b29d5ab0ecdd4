package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/parity"
	"furlong/rl"
	"furlong/starter"
	"furlong/tokenizer"
)

// compares runs furlong parity in this process, and returns its report, or what it said instead.
func compares(t *testing.T, args ...string) (rep *parity.Report, code int, says string) {
	t.Helper()
	var out, errs bytes.Buffer
	e := &env{args: append([]string{"parity", "--quiet", "--json"}, args...), stdout: &out, stderr: &errs, log: newLog(&errs, false, false)}
	code = dispatch(t.Context(), e)
	if out.Len() > 0 {
		rep = &parity.Report{}
		if err := json.Unmarshal(out.Bytes(), rep); err != nil {
			t.Fatalf("%v in %.200s", err, out.String())
		}
	}
	return rep, code, errs.String()
}

// long writes sequences of so many response tokens into a file, and returns its path.
func long(t *testing.T, lengths ...int) string {
	t.Helper()
	var text strings.Builder
	words := tokenizer.Bytes{}.Encode(strings.Repeat("12*3+40=12*3=36 36+40=\\boxed{76} ", 100))
	for i, n := range lengths {
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint(i), "prompt": append([]int32{256}, words[i:i+5]...), "response": words[i+5:][:n]})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	path := filepath.Join(t.TempDir(), "sequences.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A difference that begins at position 512 is shown there and nowhere else: in the buckets, the verdict, the worst tokens.
func TestParityShowsALateGap(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	rep, code, says := compares(t, "trainer", "trainer", "--sequences", long(t, 600, 90), "--taps", "0", "--out", kept)
	if code != exitOK || rep.Verdict.Kind != parity.SameBits {
		t.Fatalf("exit code %d: %s", code, says)
	}
	spoilLogProbs(t, filepath.Join(kept, "a"), func(pos int, lp float32) float32 {
		if pos >= 512 {
			return lp - 0.25
		}
		return lp
	})
	rep, code, says = compares(t, "dir:"+filepath.Join(kept, "a"), "trainer", "--taps", "0")
	if code != exitFailed {
		t.Fatalf("exit code is %d, want 1: %s", code, says)
	}
	for _, b := range rep.Comparisons[0].ByPosition {
		late := b.Name == "512-1023"
		if late != (b.Gap.Exact != 1) || late && b.Gap.Mean < 0.2499 {
			t.Errorf("bucket %s: %+v", b.Name, b.Gap)
		}
	}
	if !strings.Contains(strings.Join(rep.Verdict.More, "\n"), "the gap begins at response position 512: before it the largest is 0 nats") {
		t.Errorf("verdict is %+v", rep.Verdict)
	}
	for _, w := range rep.Comparisons[0].Worst {
		if w.Position < 512 || w.Sequence != 0 {
			t.Errorf("a worst token is at position %d of sequence %d", w.Position, w.Sequence)
		}
	}
}

// spoilLogProbs changes the logprobs of a recording.
func spoilLogProbs(t *testing.T, dir string, change func(pos int, lp float32) float32) {
	t.Helper()
	path := filepath.Join(dir, "sequences.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(raw) {
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		list := l["logprobs"].([]any)
		for i := range list {
			list[i] = change(i, float32(list[i].(float64)))
		}
		if err := json.NewEncoder(&out).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withConfig writes the model inside the binary into a folder, its config.json changed.
func withConfig(t *testing.T, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	config := bytes.Replace(starter.Config, []byte(from), []byte(to), 1)
	if bytes.Equal(config, starter.Config) && from != to {
		t.Fatalf("config.json has no %s", from)
	}
	weights, err := os.ReadFile("../../starter/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"config.json": config, "model.safetensors": weights} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Engines of different models are named before anything is scored. Where that is to be ignored, the first op that computes otherwise is, and the mistake that it would
// be.
func TestParityFindsAChangedModel(t *testing.T) {
	for _, tt := range []struct{ from, to, differs, where, mistake string }{
		{`"sliding_window": 16`, `"sliding_window": 17`, "sliding_window is 16 under A, and 17 under B", "layer 0, attn_mix", "lets the window reach one token further back"},
		{`"routed_scaling_factor": 1.5`, `"routed_scaling_factor": 1.0`, "routed_scaling_factor is 1.5 under A, and 1 under B", "layer 0, router_weights", "leaves out routed_scaling_factor"},
	} {
		dir := withConfig(t, tt.from, tt.to)
		_, code, says := compares(t, "rollout", "trainer:checkpoint="+dir, "--num-prompts", "4")
		if code != exitUsage || !strings.Contains(says, "config: "+tt.differs) {
			t.Errorf("exit code %d, want 2 and %q: %s", code, tt.differs, says)
		}
		rep, code, says := compares(t, "rollout", "trainer:checkpoint="+dir, "--num-prompts", "4", "--ignore", "config")
		if code != exitFailed || rep == nil {
			t.Fatalf("exit code is %d, want 1: %s", code, says)
		}
		if v := rep.Verdict; v.Where != tt.where || !strings.Contains(v.Says, ", in B") || !strings.Contains(strings.Join(v.More, "\n"), tt.mistake) {
			t.Errorf("verdict is %+v, want %s and %q", v, tt.where, tt.mistake)
		}
	}
}

// Taps of a side are kept with it: a recording is judged as the engine was. Without any that fits, nothing is named.
func TestParityJudgesARecording(t *testing.T) {
	dir, kept := withConfig(t, `"sliding_window": 16`, `"sliding_window": 17`), filepath.Join(t.TempDir(), "kept")
	if _, code, says := compares(t, "rollout", "trainer:checkpoint="+dir, "--num-prompts", "2", "--ignore", "config", "--out", kept); code != exitFailed {
		t.Fatalf("exit code is %d, want 1: %s", code, says)
	}
	rep, code, says := compares(t, "dir:"+filepath.Join(kept, "b"), "trainer", "--ignore", "config")
	if code != exitFailed || rep == nil || rep.Verdict.Where != "layer 0, attn_mix" || !strings.Contains(rep.Verdict.Says, "in A") {
		t.Errorf("exit code %d: %s", code, says)
	}
	rep, _, _ = compares(t, "dir:"+filepath.Join(kept, "b"), "trainer", "--ignore", "config", "--taps", "0")
	if rep == nil || rep.Divergence != nil || rep.Verdict.Where != "" {
		t.Errorf("without taps something is found")
	}
}

// A server in this process: the same bits as the trainer, experts too, and what it is called by.
func TestParityWithAServer(t *testing.T) {
	address, end := serveHere(t, "--enable-return-routed-experts")
	defer end()
	rep, code, says := compares(t, address, "trainer", "--num-prompts", "4")
	if code != exitOK || rep == nil || rep.Verdict.Kind != parity.SameBits {
		t.Fatalf("exit code %d: %s", code, says)
	}
	if len(rep.Comparisons) != 3 || rep.Comparisons[0].Top1 != nil || len(rep.Comparisons[0].Experts) == 0 {
		t.Errorf("comparisons are %+v, want three, with experts", rep.Comparisons)
	}
	if a := rep.A; a.Kind != "server" || a.Weights != "bf16" || a.State != rep.B.State || a.Version != "default" {
		t.Errorf("the server is %+v, want the trainer's state", a)
	}
	if _, code, says := compares(t, address, "trainer", "--num-prompts", "2", "--max-new-tokens", "600"); code != exitUsage || !strings.Contains(says, "A's context has 512") {
		t.Errorf("exit code %d, want 2 and the context of 512: %s", code, says)
	}
	if rep, code, says := compares(t, address, address, "--num-prompts", "2"); code != exitOK || rep.Verdict.Kind != parity.SameBits {
		t.Errorf("exit code %d: %s", code, says)
	}
}

// standsBefore is a server before another one that changes its answers to /generate.
func standsBefore(t *testing.T, address string, change func(answer map[string]any, asked map[string]any)) string {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/generate" {
			pass.ServeHTTP(w, r)
			return
		}
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		answer := said(t, address, asked)
		change(answer, asked)
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// said is what a server answers to /generate.
func said(t *testing.T, address string, asked map[string]any) (answer map[string]any) {
	raw, _ := json.Marshal(asked)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/generate", bytes.NewReader(raw))
	if err != nil {
		t.Error(err)
		return nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Error(err)
	}
	return answer
}

// Servers whose logprobs mean something else, or that tell none of prompts, are named before anything is scored.
func TestParityNamesWhatAServerTells(t *testing.T) {
	address, end := serveHere(t)
	defer end()
	renormalised := standsBefore(t, address, func(answer, asked map[string]any) {
		p := asked["sampling_params"].(map[string]any)
		topP := p["top_p"].(float64)
		if topP == 1 {
			return
		}
		p["top_p"], asked["top_logprobs_num"] = 1.0, 272
		all := said(t, address, asked)["meta_info"].(map[string]any)["output_top_logprobs"].([]any)[0].([]any)
		mass := 0.0
		for i := 0; mass < topP; i++ {
			mass += math.Exp(all[i].([]any)[0].(float64))
		}
		told := answer["meta_info"].(map[string]any)["output_token_logprobs"].([]any)[0].([]any)
		told[0] = math.Min(0, told[0].(float64)-math.Log(mass))
	})
	cold := standsBefore(t, address, func(answer, asked map[string]any) {
		p := asked["sampling_params"].(map[string]any)
		if p["temperature"].(float64) == 1 {
			return
		}
		told := answer["meta_info"].(map[string]any)["output_token_logprobs"].([]any)[0].([]any)
		p["temperature"], p["top_p"], asked["token_ids_logprob"] = 1.0, 1.0, []any{told[1]}
		told[0] = said(t, address, asked)["meta_info"].(map[string]any)["output_token_ids_logprobs"].([]any)[0].([]any)[0].([]any)[0]
	})
	silent := standsBefore(t, address, func(answer, _ map[string]any) {
		delete(answer["meta_info"].(map[string]any), "input_token_logprobs")
	})
	changing := 0
	updated := standsBefore(t, address, func(answer, _ map[string]any) {
		if changing++; changing > 4 {
			m := answer["meta_info"].(map[string]any)
			m["weight_version"] = "8"
			delete(m, "weight_versions")
		}
	})
	for _, tt := range []struct{ name, url, want string }{
		{"renormalised", renormalised, "meaning: at temperature 0.5 and top-p 0.5 A tells logprobs renormalised after top-p, want them of the whole distribution after temperature"},
		{"before temperature", cold, "meaning: at temperature 0.5 and top-p 0.5 A tells logprobs of the distribution before temperature, want them of the whole"},
		{"without logprobs of prompts", silent, "scoring: A cannot score given tokens: bad answer: 0 logprobs of the prompt, want 3"},
		{"other weights on the way", updated, `its weights changed on the way, from "default" on`},
	} {
		_, code, says := compares(t, tt.url, "trainer", "--num-prompts", "4")
		if code != exitUsage || !strings.Contains(says, tt.want) {
			t.Errorf("%s: exit code %d, want 2 and %q: %s", tt.name, code, tt.want, says)
		}
	}
}

// Everything that was chosen comes out of an engine's compact records as it went in.
func TestChoicesOfRecords(t *testing.T) {
	r := rl.NewRoutes(2, 2, 300)
	r.Add([]int32{1, 299, 3, 4, 5, 6, 7, 8})
	got := expertsOf(r)
	if len(got) != 2 || fmt.Sprint(got[0].IDs) != "[1 299 5 6]" || fmt.Sprint(got[1].IDs) != "[3 4 7 8]" || got[1].Layer != 1 || got[0].Width != 2 {
		t.Errorf("experts are %+v", got)
	}
	e := rl.NewEntries([]int{3}, 1, 2)
	for pos, numbers := range [][]int32{{0}, {0, 1}, {0, 2}} {
		e.Add(e.Pack(nil, pos, numbers))
	}
	index, err := entriesOf(e)
	if err != nil || len(index) != 1 || index[0].Layer != 3 || fmt.Sprint(index[0].IDs) != "[0 -1 0 1 0 2]" {
		t.Errorf("entries are %+v, %v", index, err)
	}
	if expertsOf(nil) != nil {
		t.Error("no record has experts")
	}
}

// What an engine computes while it draws, token by token, is recorded too, and a judge has the same bits at every boundary.
func TestDrawnTaps(t *testing.T) {
	var errs bytes.Buffer
	e := &env{stdout: &errs, stderr: &errs, log: newLog(&errs, false, false)}
	p := &parityJob{env: e, f: newParityFlags()}
	p.f.tokens.NumPrompts = 2
	defer p.close()
	if err := p.prepare("rollout:chunk=5", "trainer"); err != nil {
		t.Fatal(err)
	}
	side, err := p.open(t.Context(), p.specs[0])
	if err != nil {
		t.Fatal(err)
	}
	r := side.(*rolloutSide)
	seqs, err := r.Generate(t.Context(), p.seqs, *p.draw, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	s := seqs[1]
	set, err := r.DrawnTaps(t.Context(), s, *p.draw)
	if err != nil {
		t.Fatal(err)
	}
	if x := set.Find(5, "streams"); x == nil || x.First != 0 || x.Rows() != len(s.Tokens())-1 {
		t.Fatalf("streams of the last layer are %+v, want a row for each of %d tokens but the last", x, len(s.Tokens()))
	}
	if x := set.Find(-1, "final_norm"); x == nil || x.First != len(s.Prompt)-1 || x.Rows() != len(s.Response) {
		t.Fatalf("the end's rows are wrong: %+v", x)
	}
	d, err := p.find(t.Context(), parity.Found{Side: r, About: r.about, Taps: set}, parity.Found{About: parity.About{Kind: "server"}})
	if err != nil || d.Found || !strings.Contains(d.Says, "the same bits at all") || d.Judged != "A" {
		t.Errorf("finding is %+v, %v", d, err)
	}
	set.Find(2, "attn_mix").Row(len(s.Tokens()) - 3)[1] += 0.01 // in a row of the decode path
	d, err = p.find(t.Context(), parity.Found{Side: r, About: r.about, Taps: set}, parity.Found{About: parity.About{Kind: "server"}})
	if err != nil || !d.Found || d.Layer != 2 || d.Op != "attn_mix" || d.At != len(s.Tokens())-3 {
		t.Errorf("finding is %+v, %v, want attn_mix of layer 2 from position %d on", d, err, len(s.Tokens())-3)
	}
	s.Seed++
	s.Response = append([]int32{'z'}, s.Response[1:]...)
	if _, err := r.DrawnTaps(t.Context(), s, *p.draw); err == nil {
		t.Error("taps of another response are taken")
	}
}
