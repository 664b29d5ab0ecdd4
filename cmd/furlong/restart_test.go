package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/api/sglang"
	"furlong/metrics/rollouts"
	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
)

// A phoenix is a server that is killed while it has work, and started anew at the same port.
type phoenix struct {
	*host
	args   []string
	deaths int
}

// rises starts one.
func rises(t *testing.T, model, dir string) *phoenix {
	t.Helper()
	args := []string{"serve", "--model-path", model, "--context-length", "64", "--weights-root", dir, "--quiet"}
	return &phoenix{host: hosts(t, args...), args: args}
}

// working reports whether the server has requests in hand.
func (p *phoenix) working() bool {
	resp, err := http.Get(p.url + "/v1/loads")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var l sglang.Loads
	return json.NewDecoder(resp.Body).Decode(&l) == nil && len(l.Loads) > 0 && l.Loads[0].Running > 0
}

// fall kills the server once it has work, unless what it works for ends first, and starts it anew.
func (p *phoenix) fall(t *testing.T, ended <-chan result) {
	t.Helper()
	wait(t, "request at "+p.url, func() bool { return p.working() || len(ended) > 0 })
	if len(ended) > 0 {
		return
	}
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	p.host = hostsAt(t, u.Port(), p.args...)
	p.deaths++
}

// A run whose servers are killed while they generate, and started anew with the weights of the beginning, waits for them, gives them the weights of today, and is the run of
// servers that lived: the same samples, figures and weights.
func TestRunsOutliveRestarts(t *testing.T) {
	model := tiny(t)
	own := []string{"--num-rollout", "5", "--rollout-max-response-len", "40"}
	calm := func(more ...string) finished {
		return trainTiny(t, model, append(more, own...)...)
	}
	over := calm("--rollout-url", serving(t, model, t.TempDir()).url)
	for name, tt := range map[string]struct {
		more []string
		flag string
		want func() finished
	}{
		"one":             {nil, "--rollout-url", func() finished { return over }},
		"one, by files":   {[]string{"--update-weight-transport", "disk"}, "--rollout-url", func() finished { return over }},
		"two":             {nil, "--rollout-url", func() finished { return over }},
		"behind a router": {nil, "--rollout-url", func() finished { return over }},
		"ahead": {[]string{"--loop", "one-step-off"}, "--rollout-url", func() finished {
			return calm("--loop", "one-step-off", "--rollout-url", serving(t, model, t.TempDir()).url)
		}},
		"evaluating": {nil, "--eval-url", func() finished { return calm() }},
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t, "one")
			dir := t.TempDir()
			falls, args := rises(t, model, dir), append(slices.Clone(own), tt.more...)
			urls := falls.url
			switch name {
			case "one, by files":
				args = append(args, "--update-weight-dir", dir)
			case "two":
				urls += "," + serving(t, model, dir).url
			case "behind a router":
				urls = hosts(t, "router", "--worker-urls", falls.url, "--health-check-interval-secs", "0.1").url
			}
			same := sameTraining
			if name == "evaluating" {
				same = sameFigures // an evaluation that waits comes later, and sets of samples are numbered as they come
			}
			want, run := tt.want(), filepath.Join(t.TempDir(), "run")
			ended := make(chan result, 1)
			go func() {
				ended <- execute(t, exec.Command("furlong", flags(model, run, append(args, tt.flag, urls)...)...))
			}()
			for range 3 {
				falls.fall(t, ended)
			}
			r := <-ended
			if r.code != exitOK || falls.deaths == 0 {
				t.Fatalf("the run exits with %d, after %d deaths of its server:\n%.8000s", r.code, falls.deaths, r.stderr)
			}
			same(t, finished{run, r}, want)
			log, err := os.ReadFile(filepath.Join(run, rundir.LogFile))
			if err != nil {
				t.Fatal(err)
			}
			lines := []string{"rollout server lost", "rollout server is back"}
			if name == "one" { // elsewhere the next update may come first
				lines = append(lines, "rollout server has the weights again")
			}
			for _, line := range lines {
				if !strings.Contains(string(log), line) {
					t.Errorf("the run's log does not say %q:\n%.6000s", line, log)
				}
			}
		})
	}
}

// A run without end of drawing goes on too while its servers are killed and started anew: every cycle comes, what was in flight is drawn again, no prompt is given up, and each that was handed out has its place
// in the account. Which samples a cycle trains is a matter of time there, so it is held against its own account, and not against a run of servers that lived.
func TestFullyAsyncOutlivesRestarts(t *testing.T) {
	model := tiny(t)
	for name, more := range map[string][]string{
		"one":          nil,
		"two, bounded": {"--max-weight-staleness", "1", "--async-unused-samples-handler", "retry"},
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t)
			dir, run := t.TempDir(), filepath.Join(t.TempDir(), "run")
			falls := rises(t, model, dir)
			urls := falls.url
			if strings.HasPrefix(name, "two") {
				urls += "," + serving(t, model, dir).url
			}
			args := append([]string{"--loop", "fully-async", "--rollout-max-response-len", "40", "--rollout-url", urls}, more...)
			ended := make(chan result, 1)
			go func() { ended <- execute(t, exec.Command("furlong", flags(model, run, args...)...)) }()
			for range 3 {
				falls.fall(t, ended)
			}
			r := <-ended
			if r.code != exitOK || falls.deaths == 0 {
				t.Fatalf("the run exits with %d, after %d deaths of its server:\n%.8000s", r.code, falls.deaths, r.stderr)
			}
			got := finished{run, r}
			if n := len(cycles(t, run)); n != 10 {
				t.Fatalf("%d cycles were told, want 10", n)
			}
			nothingLost(t, got, got)
			if d := savedLast(t, run).Account.Prompts.Dropped; d["engine_error"] != 0 || d["aborted"] != 0 {
				t.Errorf("prompts were dropped: %v, want none given up because a server died", d)
			}
			for c := 1; c <= 10; c++ {
				all, err := rollouts.Read(filepath.Join(run, "samples", samples.Name(uint32(c), "")))
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range all.Samples {
					if err := s.Check(); err != nil {
						t.Errorf("cycle %d, sample %d: %v", c, i, err)
					}
				}
			}
		})
	}
}
