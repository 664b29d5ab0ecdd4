package sched

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"furlong/internal/script"
)

var update = flag.Bool("update", false, "rewrite the lines of scripts that start with =")

// counter is a Memory that only counts pages: every sequence has its own.
type counter struct {
	pages, size int
	used        map[int64]int
	tokens      map[int64]int // that a sequence has
	known       map[int64]int // that it will find
	common      int           // tokens that any two sequences begin with alike; 0 for all that both have
}

func newCounter(pages, size int) *counter {
	return &counter{pages, size, map[int64]int{}, map[int64]int{}, map[int64]int{}, 0}
}

func (m *counter) of(n int) int { return (n + m.size - 1) / m.size }

func (m *counter) free() int {
	n := m.pages
	for _, u := range m.used {
		n -= u
	}
	return n
}

func (m *counter) Fits(n int) bool { return m.of(n) <= m.pages }

func (m *counter) Open(id int64, n int) (int, bool) {
	if m.used[id] != 0 {
		panic(fmt.Sprintf("sequence %d opened twice", id))
	}
	if m.of(n) > m.free() {
		return 0, false
	}
	known := min(m.known[id], m.tokens[id]-1)
	m.used[id] = m.of(known)
	return known, true
}

func (m *counter) Grow(id int64, n int) int {
	m.used[id] += min(m.free(), max(0, m.of(n)-m.used[id]))
	return min(n, m.used[id]*m.size)
}

func (m *counter) Common(a, b int64) int {
	n := min(m.tokens[a], m.tokens[b])
	if m.common > 0 {
		return min(n, m.common)
	}
	return n
}

func (m *counter) Close(id int64) { delete(m.used, id) }

// A desk is a scheduler, its memory, and what is left for each sequence to say.
type desk struct {
	s    *Scheduler
	m    *counter
	left map[int64]int
}

func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", *update, func(t *testing.T) func(script.Command) string {
		d := &desk{left: map[int64]int{}}
		return func(c script.Command) string { return d.do(t, c) }
	})
}

func (d *desk) do(t *testing.T, c script.Command) string {
	switch c.Name {
	case "engine":
		d.m = newCounter(c.Int("pages", 1000), c.Int("size", 4))
		d.m.common = c.Int("common", 0)
		d.s = New(Config{MaxRunning: c.Int("running", 8), MaxPrefill: c.Int("prefill", 64)}, d.m)
		return ""
	case "add":
		return d.add(c)
	case "next":
		return d.next()
	case "run":
		return d.run()
	case "remove":
		for _, id := range c.Ints() {
			d.s.Remove(int64(id))
		}
		return ""
	case "retract":
		return fmt.Sprint("retracted ", d.s.Retract())
	case "state":
		return fmt.Sprintf("running %d queued %d free pages %d", d.s.Running(), d.s.Queued(), d.m.free())
	}
	t.Fatalf("no command %q", c.Name)
	return ""
}

func (d *desk) add(c script.Command) string {
	var out []string
	for _, id := range c.Ints() {
		id := int64(id)
		prompt, more := c.Int("prompt", 1), c.Int("more", 1)
		d.m.known[id] = c.Int("known", 0)
		err := d.s.Add(Seq{ID: id, Tokens: prompt, Most: prompt + more - 1, Prompt: uint64(c.Int("like", 0)), Shared: c.Int("takes", prompt-1)})
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		d.m.tokens[id], d.left[id] = prompt, more
	}
	return strings.Join(out, "\n")
}

// next prints a plan and carries it out.
func (d *desk) next() string {
	p := d.s.Next()
	var out strings.Builder
	for _, o := range p.Start {
		if o.Known > 0 {
			fmt.Fprintf(&out, "sequence %d finds %d\n", o.ID, o.Known)
		}
	}
	fmt.Fprintf(&out, "prefill [%s] decode [%s] evict %v\n", chunks(p.Prefill), chunks(p.Decode), p.Evict)
	d.s.Done()
	for _, c := range append(append([]Chunk(nil), p.Decode...), p.Prefill...) {
		if !c.Last {
			continue
		}
		if d.left[c.ID]--; d.left[c.ID] == 0 {
			d.s.Remove(c.ID)
			fmt.Fprintf(&out, "%d ends\n", c.ID)
		} else {
			d.s.Append(c.ID)
			d.m.tokens[c.ID]++
		}
	}
	return out.String()
}

// run carries out plans until nothing is left, and prints how many and who ended when.
func (d *desk) run() string {
	var ends []string
	for n := 1; d.s.Running()+d.s.Queued() > 0; n++ {
		for _, line := range strings.Split(d.next(), "\n") {
			if id, ok := strings.CutSuffix(line, " ends"); ok {
				ends = append(ends, fmt.Sprintf("%s@%d", id, n))
			}
		}
		if n > 10000 {
			return "never ends"
		}
	}
	return strings.Join(ends, " ")
}

func chunks(cs []Chunk) string {
	var out []string
	for _, c := range cs {
		if c.To-c.From == 1 && c.Last {
			out = append(out, fmt.Sprint(c.ID))
		} else {
			out = append(out, fmt.Sprintf("%d:%d-%d", c.ID, c.From, c.To))
		}
	}
	return strings.Join(out, " ")
}
