package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/metrics/samples"
)

// A host is a furlong that answers requests in a process of its own.
type host struct {
	*exec.Cmd
	url string
}

// hosts starts furlong serve or furlong router, and waits until it has an address. It ends with t.
func hosts(t *testing.T, args ...string) *host {
	t.Helper()
	return hostsAt(t, "0", args...)
}

// hostsAt is hosts at a port.
func hostsAt(t *testing.T, port string, args ...string) *host {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address")
	h := &host{Cmd: exec.Command("furlong", append(args, "--port", port, "--port-file", file)...)}
	var said bytes.Buffer
	h.Stderr = &said
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Process.Signal(syscall.SIGTERM) // one that was killed does not hear it
		_ = h.Wait()
		if t.Failed() {
			t.Logf("furlong %s said:\n%.4000s", strings.Join(args, " "), said.String())
		}
	})
	wait(t, "an address", func() bool {
		text, err := os.ReadFile(file)
		h.url = strings.TrimSpace(string(text))
		return err == nil
	})
	return h
}

// wait waits until something holds, as it must within a minute.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s after a minute", what)
		}
	}
}

// serving starts a server of a model. It may read folders below dir.
func serving(t *testing.T, model, dir string, more ...string) *host {
	t.Helper()
	return hosts(t, append([]string{"serve", "--model-path", model, "--context-length", "64", "--weights-root", dir, "--quiet"}, more...)...)
}

// A run whose samples come from a server is the run whose samples come from inside: the same samples, figures and weights, bit for bit.
func TestRemoteRun(t *testing.T) {
	model, short := tiny(t), []string{"--num-rollout", "3", "--keep-experts", "none"} // the engine inside tells them unasked
	want := trainTiny(t, model, short...)
	for name, more := range map[string][]string{
		"stream": nil, "disk": {"--update-weight-transport", "disk", "--update-weight-dir"}, "router": nil,
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t, "stream")
			dir := t.TempDir()
			h := serving(t, model, dir)
			switch name {
			case "disk":
				more = append(more, dir)
			case "router":
				h = hosts(t, "router", "--worker-urls", h.url)
			}
			got := trainTiny(t, model, append(append(short, "--rollout-url", h.url), more...)...)
			sameTraining(t, got, want)
		})
	}
}

// sameTraining fails the test unless two runs ended with the same weights, measured the same in every cycle and evaluation, and trained on the
// same samples. Those of evaluations may have come in another order.
func sameTraining(t *testing.T, got, want finished) {
	t.Helper()
	sameFigures(t, got, want)
	trained := 0
	for cycle := range cycles(t, want.dir) {
		name := samples.Name(uint32(cycle), "")
		g, w := told(t, got.dir, name), told(t, want.dir, name)
		for i := range w {
			if trained++; i >= len(g) || g[i] != w[i] {
				t.Fatalf("%s: sample %d differs from\n%.2000s", name, i, w[i])
			}
		}
	}
	if trained == 0 {
		t.Error("no samples were compared")
	}
}

// sameFigures fails the test unless two runs ended with the same weights and measured the same in every cycle and evaluation.
func sameFigures(t *testing.T, got, want finished) {
	t.Helper()
	if g, w := got.closing(t).Digest, want.closing(t).Digest; g != w || len(g) != 64 {
		t.Errorf("weights have SHA-256 %q, want %q", g, w)
	}
	if err := metrics.Compare(ordered(t, got.dir), ordered(t, want.dir)); err != nil {
		t.Errorf("metrics: %v", err)
	}
}

// ordered returns a run's rows without what depends on the order in which requests came to an engine.
func ordered(t *testing.T, dir string) []metrics.Row {
	t.Helper()
	all := rows(t, dir)
	for _, r := range all {
		delete(r.Values, "rollout/prefix_cache_hit_rate")
	}
	return all
}

// In every format the weights are those of the run inside.
func TestRemoteFormats(t *testing.T) {
	unlessShort(t)
	model := tiny(t)
	for _, formats := range [][2][]string{
		{{"--rollout-format", "fp8"}, {"--rollout-format", "fp8"}},
		{{"--dtype", "f32"}, {"--dtype", "f32"}},
		{{"--actor-kv-format", "fp8_e4m3", "--rollout-kv-format", "fp8_e4m3"}, {"--kv-cache-dtype", "fp8_e4m3"}},
	} {
		t.Run(strings.Join(formats[0], " "), func(t *testing.T) {
			t.Parallel()
			own := append([]string{"--num-rollout", "2", "--keep-experts", "none"}, formats[0]...)
			want := trainTiny(t, model, own...)
			got := trainTiny(t, model, append(own, "--rollout-url", serving(t, model, t.TempDir(), formats[1]...).url)...)
			sameTraining(t, got, want)
		})
	}
}

// Of two servers one dies in the middle: no sample is lost, none is another, and what comes out is what one engine inside gives.
func TestRemoteRunOutlivesAServer(t *testing.T) {
	unlessShort(t)
	model := tiny(t)
	want := trainTiny(t, model).closing(t).Digest
	a, b := serving(t, model, t.TempDir()), serving(t, model, t.TempDir())
	dir := filepath.Join(t.TempDir(), "run")
	c := exec.Command("furlong", flags(model, dir, "--rollout-url", a.url+","+b.url)...)
	ended := make(chan result, 1)
	go func() { ended <- execute(t, c) }()
	wait(t, "second cycle", func() bool {
		all, _, err := metrics.ReadRows(filepath.Join(dir, "metrics.jsonl"))
		return err == nil && len(all) > 2
	})
	if err := a.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r := <-ended
	if r.code != exitOK {
		t.Fatalf("the run exits with %d:\n%s", r.code, r.stderr)
	}
	if got := r.closing(t).Digest; got != want {
		t.Errorf("weights have SHA-256 %s, want %s", got, want)
	}
	if !strings.Contains(r.stderr, `"msg":"rollout server lost"`) {
		t.Errorf("nothing is said of the server that died:\n%.4000s", r.stderr)
	}
}

// A run is resumed over servers that have lived on, and over ones that were started anew.
func TestRemoteResume(t *testing.T) {
	unlessShort(t)
	model := tiny(t)
	want := trainTiny(t, model, "--num-rollout", "6").closing(t).Digest
	dir := filepath.Join(t.TempDir(), "run")
	h := serving(t, model, t.TempDir())
	succeed(t, flags(model, dir, "--num-rollout", "2", "--rollout-url", h.url)...)
	succeed(t, "train", "--run-dir", dir, "--resume", "--num-rollout", "4")
	r := succeed(t, "train", "--run-dir", dir, "--resume", "--num-rollout", "6", "--json", "--rollout-url", serving(t, model, t.TempDir()).url)
	if got := r.closing(t).Digest; got != want {
		t.Errorf("weights have SHA-256 %s, want %s", got, want)
	}
}
