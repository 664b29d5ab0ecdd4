package bench

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"furlong/kernels/cpu"
)

// quick is everything, as small as it gets.
func quick() Config {
	c := Default()
	c.Model = "testdata/small.json"
	c.Work = []string{Generate, Score, Train, Growth, Memory}
	c.Runs, c.Prompt, c.New, c.Cycles = 5, 3, 3, 3
	c.Batches, c.Score, c.Train, c.Contexts = []int{2}, []Shape{{1, 6}}, []Shape{{2, 4}}, []int{5, 10}
	return c
}

// runQuick runs a bencher whose measurements of the machine are small, too.
func runQuick(t *testing.T, ctx context.Context, cfg Config, progress func(int, string)) (*Report, error) {
	t.Helper()
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	defer k.Close()
	shape, err := readModel(cfg.Model)
	if err != nil {
		t.Fatal(err)
	}
	b := newBencher(cfg, shape, Options{Backend: k, Threads: 2, Build: Build{Revision: "abc", Go: "go9"}, Progress: progress})
	b.meter.side, b.meter.bytes = 64, 1<<20
	return b.run(ctx)
}

func TestRun(t *testing.T) {
	var seen []int
	r, err := runQuick(t, t.Context(), quick(), func(done int, _ string) { seen = append(seen, done) })
	if err != nil {
		t.Fatal(err)
	}
	if n := Measurements(quick()); len(seen) != n || seen[n-1] != n {
		t.Errorf("progress was reported %d times, last %d; want %d", len(seen), seen[len(seen)-1], n)
	}
	var got []string
	for _, x := range r.Results {
		got = append(got, x.Work+" "+x.Shape)
		if x.Rate.Min <= 0 || x.Rate.Min > x.Rate.Median || x.Rate.Median > x.Rate.Max || x.StepMS <= 0 || x.FloorRun <= 0 || x.Share <= 0 || x.Peak <= 0 {
			t.Errorf("%s %s: %+v", x.Work, x.Shape, x)
		}
		if long := x.Work == Score || x.Work == Train; long != (x.ShareThen > 0) {
			t.Errorf("%s %s: share by the rates of the time is %v", x.Work, x.Shape, x.ShareThen)
		}
	}
	if want := "generate prompt 3, 3 new, batch 2; decode prompt 3, 3 new, batch 2; score 1x6; train 2x4"; strings.Join(got, "; ") != want {
		t.Errorf("works are %q, want %q", strings.Join(got, "; "), want)
	}
	if r.Rates.Matrix.Best <= 0 || r.Rates.Copy.Best <= 0 || r.Rates.Copy.Count != 7*looks {
		t.Errorf("rates are %+v, want %d looks at each", r.Rates, 7*looks)
	}
	if len(r.Growth.Points) != 2 || r.Growth.Points[1].TrainUS <= 0 || len(r.Memory) != 3 || r.Memory[2].Resident <= 0 {
		t.Errorf("growth is %+v, memory %+v", r.Growth, r.Memory)
	}
}

// Readers rely on these names.
func TestJSON(t *testing.T) {
	cfg := quick()
	cfg.Work = []string{Score}
	r, err := runQuick(t, t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Build, Machine, Model map[string]any
		Rates                 map[string]map[string]any
		Results               []map[string]any
		Growth, Memory        any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		of   string
		keys map[string]any
		want string
	}{
		{"build", got.Build, "changed go revision"},
		{"machine", got.Machine, "backend cores load memory_is processor system threads unit"},
		{"model", got.Model, "bytes format name parameters parameters_per_token"},
		{"rates", got.Rates["matrix_flop_per_s"], "best count median"},
		{"result", got.Results[0], "floor_share floor_share_then floor_tokens_per_s ms_per_step peak_bytes shape steps tokens tokens_per_s work"},
	} {
		keys := slices.Sorted(maps.Keys(tt.keys))
		if !slices.Equal(keys, strings.Fields(tt.want)) {
			t.Errorf("%s has %v, want %s", tt.of, keys, tt.want)
		}
	}
	if got.Growth != nil || got.Memory != nil {
		t.Errorf("growth and memory were not asked for, but there are %v and %v", got.Growth, got.Memory)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := runQuick(t, ctx, quick(), func(done int, _ string) {
		if done == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"default", func(*Config) {}, ""},
		{"nothing", func(c *Config) { c.Work = nil }, "--work is empty, want one or more"},
		{"few runs", func(c *Config) { c.Runs = 4 }, "--runs is 4, want at least 5"},
		{"no batch", func(c *Config) { c.Batches = nil }, "--batch is empty, want one or more for --work generate"},
		{"a batch of none", func(c *Config) { c.Batches = []int{4, 0} }, "--batch is 0, want at least 1"},
		{"one token", func(c *Config) { c.New = 1 }, "--new is 1, want at least 2"},
		{"short context", func(c *Config) { c.Contexts = []int{48, 64} }, "--context is 48, want at least 49"},
		{"one context", func(c *Config) { c.Work, c.Contexts = []string{Growth}, []int{64} }, "--context has one length, want two or more to see growth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			tt.change(&c)
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate() says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestShapeText(t *testing.T) {
	var s Shape
	for _, text := range []string{"8x256", "1x1"} {
		if err := s.UnmarshalText([]byte(text)); err != nil || s.String() != text {
			t.Errorf("%q reads as %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "8", "x", "8x", "0x4", "4x-1", "8x256x2", "8X256", "99999999x99999999", "4611686018427387904x4"} {
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q reads as %v, want an error", text, s)
		}
	}
}

func TestReadModelNames(t *testing.T) {
	if _, err := readModel("big"); err == nil || !strings.Contains(err.Error(), `--model is "big", want tiny, mid, or the path of a config.json`) {
		t.Errorf("error is %v", err)
	}
}
