package servertest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

func updates() []Test {
	return []Test{
		{94, "version_keeps", "update_weight_version with abort_all_requests false relabels, and nothing is aborted", "", weights, versionKeeps},
		{95, "version_aborts", "update_weight_version without the field aborts what runs", "", weights, versionAborts},
		{96, "from_disk", "update_weights_from_disk: the same checkpoint changes nothing, another makes the server a fresh one; bf16, FP8, FP4", "", weights, fromDisk},
		{97, "back_and_forth", "A, B, A, B, A: the answers of A are the same each time", "", weights, backAndForth},
		{98, "bad_path", "a path without checkpoint: 400 with success false, the old weights are served on", "headers are checked before memory is touched", weights, badPath},
		{99, "sessions", "begin twice: the second 400; end twice: the second 400", "400, and an open session stays open, where SGLang's scheduler dies", weights, sessions},
		{
			100, "strict", "strict: a bucket without session is 400 and the server lives; lenient: 200",
			"lenient by default: a call without session is a session of one bucket, so that callers older than sessions work", strict, strictSessions,
		},
		{
			101, "between", "between begin and end no new weights are served; after end they are",
			"a session fills a copy: the version that was served goes on being served until end has verified, where SGLang can't run between begin and end", weights, between,
		},
		{
			106, "no_scales", "FP8 weights without their scales: end is refused",
			"the copy is dropped and the old version served on, where SGLang serves new weights with old scales", weights, withoutScales,
		},
		{
			123, "nan", "a NaN among the weights never becomes an answer that looks finished",
			"end_weight_update runs a canary and refuses; SGLang answers stop, matched \"NaN happened\"", weights, notANumber,
		},
	}
}

// update loads a checkpoint from disk under a label.
func (c *check) update(dir, version string, more ...m) m {
	c.Helper()
	return c.post("/update_weights_from_disk", with(append([]m{{"model_path": dir, "weight_version": version}}, more...)...)).succeeded()
}

// push sends a bucket through the stream endpoint; version may be empty.
func (c *check) push(w weightSet, version string) answer {
	c.Helper()
	path := "/update_weights_from_stream"
	if version != "" {
		path += "?weight_version=" + version
	}
	return c.post(path, w.encode(nil), "Content-Type", "application/octet-stream")
}

// streamed skips unless the server takes weights as a stream.
func (c *check) streamed() {
	c.Helper()
	if a := c.get("/update_weights_from_stream"); a.status == 404 {
		c.Skip("needs a server with /update_weights_from_stream")
	}
}

func (c *check) begin() answer { return c.post("/begin_weight_update", m{"selector": "all"}) }
func (c *check) end() answer   { return c.post("/end_weight_update", m{}) }

// An impression is what a server answers to some prompts, with logprobs.
type impression []reply

// impression flushes and asks.
func (c *check) impression() impression {
	c.Helper()
	c.flush()
	var out impression
	for i := range 3 {
		out = append(out, c.generate(ask(prompt(uint64(9000+i), 20+i), full(16), m{"logprob_start_len": 0})))
	}
	return out
}

// labelled fails unless the server's label, and that of an answer, is version.
func (c *check) labelled(version string) {
	c.Helper()
	c.equal("weight_version of /model_info", c.get("/model_info").must(200).object()["weight_version"], version)
	c.equal("weight_version of an answer", c.generate(ask(prompt(94, 5), greedy(1))).meta()["weight_version"], version)
}

// like fails unless two impressions are the same.
func (c *check) like(what string, got, want impression) {
	c.Helper()
	for i := range want {
		c.same(fmt.Sprintf("%s, answer %d", what, i), got[i], want[i])
	}
}

// unlike fails if two impressions are the same, logprobs included.
func (c *check) unlike(what string, a, b impression) {
	c.Helper()
	for i := range a {
		for j, lp := range a[i].logprobs() {
			if lp != b[i].logprobs()[j] {
				return
			}
		}
	}
	c.Fatalf("%s: the weights differ, the logprobs don't", what)
}

func versionKeeps(c *check) {
	p := c.later("/generate", ask(prompt(94, 10), full(c.long()), m{"rid": "kept"}))
	c.untilRunning(1)
	o := c.post("/update_weight_version", m{"new_version": "5", "abort_all_requests": false}).succeeded()
	c.equal("new_version", o["new_version"], "5")
	c.labelled("5")
	if !p.quiet(0) {
		if kind, _ := p.wait(c).reply().finish(); kind == "abort" {
			c.Errorf("the running request was aborted")
		}
		return
	}
	c.post("/abort_request", m{"rid": "kept"}).must(200)
	p.wait(c).reply()
}

func versionAborts(c *check) {
	p := c.later("/generate", ask(prompt(95, 10), full(c.long())))
	c.untilRunning(1)
	c.post("/update_weight_version", m{"new_version": "6"}).succeeded()
	p.wait(c).reply().ends("abort", nil)
	c.labelled("6")
}

func fromDisk(c *check) {
	if c.Start == nil { // then what a running server can be asked
		p := c.pair(c, "bf16")
		c.update(p.A, "1")
		first := c.impression()
		c.update(p.A, "2")
		c.like("updated to itself", c.impression(), first)
		c.update(p.B, "3")
		c.unlike("another checkpoint", c.impression(), first)
		c.labelled("3")
		c.update(p.A, "4")
		c.like("and back", c.impression(), first)
		return
	}
	for _, format := range []string{"bf16", "fp8", "fp8+fp4"} {
		p := c.pair(c, format)
		s := c.start("--model-path", p.A)
		first := s.impression()
		s.update(p.A, "1")
		s.like(format+": updated to itself", s.impression(), first)
		s.update(p.B, "2")
		s.labelled("2")
		second := s.impression()
		s.unlike(format, first, second)
		s.like(format+": updated", second, c.start("--model-path", p.B).impression())
	}
}

func backAndForth(c *check) {
	for _, format := range []string{"bf16", "fp8", "fp8+fp4"} {
		p := c.pair(c, format)
		s := c.start("--model-path", p.A)
		first := s.impression()
		for i := range 2 {
			s.update(p.B, fmt.Sprintf("b%d", i))
			s.update(p.A, fmt.Sprintf("a%d", i))
			s.like(fmt.Sprintf("%s: round %d", format, i), s.impression(), first)
		}
	}
}

func badPath(c *check) {
	before, dir := c.impression(), c.room()
	label := c.get("/model_info").must(200).object()["weight_version"].(string)
	bad := func(dir string) {
		c.post("/update_weights_from_disk", m{"model_path": dir, "weight_version": "bad"}).failed()
	}
	bad(filepath.Join(dir, "nothing"))
	bad(dir) // no files
	w := readWeights(c, c.pair(c, "bf16").A)
	names := w.names()
	writeModel(c, filepath.Join(dir, "lacks"), c.pair(c, "bf16").A, w.only(func(name string) bool { return name != names[len(names)/2] }))
	bad(filepath.Join(dir, "lacks"))
	c.like("after updates that failed", c.impression(), before)
	c.labelled(label)
}

func sessions(c *check) {
	c.streamed()
	p := c.pair(c, "bf16")
	c.begin().succeeded()
	c.begin().failed()
	c.push(readWeights(c, p.A), "").succeeded()
	c.end().succeeded()
	c.end().failed()
	c.impression()
}

func strictSessions(c *check) {
	c.streamed()
	w := readWeights(c, c.pair(c, "bf16").B)
	before := c.impression()
	c.push(w, "1").failed()
	c.like("after a refused bucket", c.impression(), before)
	c.begin().succeeded()
	c.push(w, "1").succeeded()
	c.end().succeeded()
	c.unlike("after a session", c.impression(), before)
	lenient := c.start("--model-path", c.pair(c, "bf16").A)
	lenient.push(w, "1").succeeded()
	lenient.like("without a session", lenient.impression(), c.impression())
	lenient.labelled("1")
}

func between(c *check) {
	c.streamed()
	p := c.pair(c, "bf16")
	c.update(p.A, "old")
	old := c.impression()
	body := ask(prompt(9000, 20), full(16), m{"logprob_start_len": 0})
	c.begin().succeeded()
	c.push(readWeights(c, p.B), "new").succeeded()
	answered := c.later("/generate", body)
	early := !answered.quiet(500 * time.Millisecond)
	if early {
		r := answered.wait(c).reply()
		c.same("an answer between begin and end", r, old[0])
		c.equal("its weight_version", r.meta()["weight_version"], "old")
	}
	c.end().succeeded()
	c.labelled("new")
	now := c.impression()
	c.unlike("after end", now, old)
	if !early {
		c.same("the answer that waited for end", answered.wait(c).reply(), now[0])
	}
}

func withoutScales(c *check) {
	c.streamed()
	p := c.pair(c, "fp8")
	s := c.start("--model-path", p.A)
	before := s.impression()
	s.begin().succeeded()
	w := readWeights(c, p.B).only(func(name string) bool { return !isScale(name) })
	if a := s.push(w, "bad"); a.status != http.StatusBadRequest {
		a.succeeded()
		s.end().failed()
	}
	s.like("after a refused session", s.impression(), before)
	s.labelled("default")
	if a := s.end(); a.status == http.StatusOK {
		c.Errorf("%v: the session is still open", a)
	}
	s.update(p.B, "good")
	s.labelled("good")
}

// notANumber spoils the rows that make logits, so that any token would notice.
func notANumber(c *check) {
	p, dir := c.pair(c, "bf16"), c.room()
	w := readWeights(c, p.A)
	name := ""
	for _, n := range w.names() {
		if n == "head.weight" || n == "lm_head.weight" {
			name = n
		}
	}
	nan := map[string][]byte{"BF16": {0xc0, 0x7f}, "F32": {0, 0, 0xc0, 0x7f}, "F16": {0, 0x7e}}[w[name].dtype]
	if nan == nil {
		c.Skipf("needs a checkpoint with a plain head, this one has %q in %q", name, w[name].dtype)
	}
	writeModel(c, filepath.Join(dir, "nan"), p.A, w.spoiled(name, nan))
	s := c.start("--model-path", p.A)
	before := s.impression()
	a := s.post("/update_weights_from_disk", m{"model_path": filepath.Join(dir, "nan"), "weight_version": "nan"})
	if a.status == http.StatusBadRequest {
		a.failed()
		s.like("after a refused update", s.impression(), before)
		s.labelled("default")
		return
	}
	a.succeeded()
	s.post("/generate", ask(prompt(123, 10), greedy(4))).must(500)
}
