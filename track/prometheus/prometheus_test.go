package prometheus

import (
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"furlong/metrics"
)

// scrape reads what a server shows with Prometheus' own parser: names to values, of one run.
func scrape(t *testing.T, url, run string) map[string]float64 {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, f := range families {
		m := f.GetMetric()[0]
		if l := m.GetLabel()[0]; l.GetName() != "run" || l.GetValue() != run {
			t.Errorf("%s has the label %v, want run=%q", name, l, run)
		}
		out[name] = m.GetGauge().GetValue()
	}
	return out
}

// A scrape has the newest value of each series, also of those that the last row lacks.
func TestScrape(t *testing.T) {
	o := Default()
	o.Port = 0
	s, err := Serve(o, `a "run"`, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	s.Take(metrics.Row{Kind: metrics.Cycle, Cycle: 1, Step: 2, Version: 3, Values: map[string]float64{"train/loss": 0.5, "rollout/raw_reward": 0.25}})
	s.Take(metrics.Row{Kind: metrics.Eval, Cycle: 2, Step: 4, Version: 3, Values: map[string]float64{"train/loss": math.Inf(1), "eval/x-pass@1": 0.125, "train_loss": 7}})
	got := scrape(t, s.Address(), `a "run"`)
	want := map[string]float64{
		"furlong_cycle": 2, "furlong_step": 4, "furlong_version": 3, "furlong_train_loss": math.Inf(1), "furlong_rollout_raw_reward": 0.25, "furlong_eval_x__pass_at_1": 0.125,
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
	resp, err := http.Post(s.Address(), "text/plain", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want 405", resp.StatusCode)
	}
}

// Every series of the table has a name of its own that Prometheus takes.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, s := range metrics.All() {
		name := Name(s.Name)
		if !model.LegacyValidation.IsValidMetricName(name) || seen[name] != "" {
			t.Errorf("%s becomes %s, which is not valid or is that of %q", s.Name, name, seen[name])
		}
		seen[name] = s.Name
	}
}

func TestPortIsTaken(t *testing.T) {
	o := Default()
	o.Port = 0
	s, err := Serve(o, "a", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s.Address(), "http://"), "/metrics"), ":")
	taken, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(Options{Host: "127.0.0.1", Port: taken}, "b", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--prometheus-port") {
		t.Errorf("a port that is taken: %v, want an error that names the flag", err)
	}
	if err := (Options{Port: 70000}).Validate(); err == nil {
		t.Error("port 70000 is taken for one")
	}
}
