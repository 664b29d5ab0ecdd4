package dashgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"furlong/metrics/run"
	"furlong/metrics/samples"
)

// Options say what run to make.
type Options struct {
	Cycles int
	Groups int // prompts a cycle
	N      int // samples a prompt
	Tokens int // mean length of answers
	Bodies string
	Seed   uint64
	State  string // running, finished, crashed, silent, failed, stopped
	Keys   int    // series a row, 0 for some 150
	Exact  bool   // the gap is 0 throughout
	One    bool   // a single row
	Empty  bool   // no row
	Plain  bool   // without planted faults
	Pair   bool   // five settings are others
}

// Default returns the options of the large run.
func Default() Options {
	return Options{Cycles: 10_000, Groups: 32, N: 8, Tokens: 32, Bodies: "last:200", State: "finished"}
}

// start is when every made run began.
const start = 1764403200

// A maker writes one run.
type maker struct {
	o       Options
	dir     string
	rng     *rand.Rand
	last    int // bodies of so many last cycles are written; -1 all
	rows    *lines
	spans   map[int]*lines
	log     *lines
	alarms  *lines
	files   *beside
	samples *samples.Writer
	attempt int
	clock   float64
	ar      float64 // noise of the reward, which remembers
	step    int
	tokens  int
	names   []string // of the further series
	planted map[string]any
	before  map[int][]byte // rows that are run twice
}

// Make writes a run into dir.
func Make(dir string, o Options) (err error) {
	m := &maker{o: o, dir: dir, rng: rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15)), attempt: 1, clock: start, planted: map[string]any{}, before: map[int][]byte{}}
	if err := m.check(); err != nil {
		return err
	}
	if err := m.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.cycles(); err != nil {
		return err
	}
	if err := m.torn(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(m.planted, "", " ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "planted.json"), append(b, '\n'), 0o644), m.state())
}

func (m *maker) check() error {
	o := &m.o
	if o.One {
		o.Cycles = 1
	}
	if o.Empty {
		o.Cycles = 0
	}
	if o.Cycles < 0 || o.Groups < 1 || o.N < 1 || o.N > 60_000 || o.Tokens < 1 {
		return fmt.Errorf("%d cycles of %d x %d samples of %d tokens, want at least 0, 1, 1, 1", o.Cycles, o.Groups, o.N, o.Tokens)
	}
	if run.Holds(m.dir) {
		return fmt.Errorf("%s holds a run already", m.dir)
	}
	m.last = -1
	if n, ok := strings.CutPrefix(o.Bodies, "last:"); ok {
		var err error
		if m.last, err = strconv.Atoi(n); err != nil || m.last < 0 {
			return fmt.Errorf("bodies are %q, want all or last:K", o.Bodies)
		}
	} else if o.Bodies != "all" {
		return fmt.Errorf("bodies are %q, want all or last:K", o.Bodies)
	}
	return nil
}

func (m *maker) open() (err error) {
	if err := os.MkdirAll(filepath.Join(m.dir, run.SamplesDir), 0o755); err != nil {
		return err
	}
	for _, d := range []string{"spans", "experts", "eval/" + held} {
		if err := os.MkdirAll(filepath.Join(m.dir, d), 0o755); err != nil {
			return err
		}
	}
	m.spans, m.files = map[int]*lines{}, newBeside()
	for name, to := range map[string]**lines{run.RowsFile: &m.rows, run.LogFile: &m.log, run.AlarmsFile: &m.alarms} {
		f, err := os.Create(filepath.Join(m.dir, name))
		if err != nil {
			return err
		}
		*to = newLines(f)
	}
	m.names = furtherNames(m.o.Keys)
	if err := m.settings(); err != nil {
		return err
	}
	return m.openSamples()
}

// openSamples begins the samples of an attempt.
func (m *maker) openSamples() (err error) {
	if m.samples != nil {
		if err := errors.Join(m.files.wait(), m.samples.Close()); err != nil {
			return err
		}
		m.files = newBeside()
	}
	m.samples, err = samples.Open(filepath.Join(m.dir, run.SamplesDir), samples.Options{Attempt: m.attempt, Text: text, Log: slog.New(slog.DiscardHandler)})
	return err
}

func (m *maker) close() error {
	errs := []error{m.files.wait()}
	for _, f := range []*lines{m.rows, m.log, m.alarms} {
		errs = append(errs, f.Close())
	}
	for _, f := range m.spans {
		errs = append(errs, f.Close())
	}
	return errors.Join(append(errs, m.samples.Close())...)
}

// cycles writes all cycles, with the crash that is planted between them.
func (m *maker) cycles() error {
	if m.o.Cycles > 0 {
		if err := m.eval(0); err != nil {
			return err
		}
	}
	for c := 1; c <= m.o.Cycles; c++ {
		if m.lost(c) {
			continue
		}
		if err := m.cycle(c); err != nil {
			return err
		}
		if c == crashAt && m.plants(crashAt+5) {
			if err := m.again(); err != nil {
				return err
			}
		}
	}
	return nil
}

// bodied reports whether the tokens of a cycle are written.
func (m *maker) bodied(c int) bool {
	return m.last < 0 || c > m.o.Cycles-m.last || m.plants(c) && (c == jumpAt || c == hostileAt || c == longAt)
}
