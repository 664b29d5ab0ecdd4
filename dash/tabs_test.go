package dash

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"furlong/metrics/run"
)

// A growing run is one whose rows a test adds.
type growing struct {
	t    testing.TB
	dir  string
	file *os.File
	next int
}

func newGrowing(t testing.TB) *growing {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, run.RowsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &growing{t: t, dir: dir, file: f, next: 1}
}

// add writes n more rows of some length.
func (g *growing) add(n, length int) {
	g.t.Helper()
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, `{"kind":"cycle","cycle":%d,"attempt":1,"step":%d,"time":%d,"rollout/raw_reward":0.25,"perf/step_time":1,"note":%q}`+"\n", g.next, g.next, g.next, strings.Repeat("x", length))
		g.next++
	}
	if _, err := g.file.WriteString(b.String()); err != nil {
		g.t.Fatal(err)
	}
}

// A tab reads a stream to its end and tells of each cycle.
type tab struct {
	cycles chan int
	end    func()
}

func openTab(t testing.TB, address string) *tab {
	t.Helper()
	events, end := listen(t, address, "?from=m0,a0", "")
	out := &tab{cycles: make(chan int), end: end}
	ctx := t.Context()
	go func() {
		defer close(out.cycles)
		for e := range events {
			if e.name != "row" {
				continue
			}
			select {
			case out.cycles <- cycleOf(t, e):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// see waits until the tab was told of the cycles from one to another, each once and in order.
func (b *tab) see(t testing.TB, who, from, to int) {
	t.Helper()
	limit := time.After(60 * time.Second)
	for want := from; want <= to; want++ {
		select {
		case c, ok := <-b.cycles:
			if !ok || c != want {
				t.Fatalf("tab %d is told of cycle %d (%v), want %d", who, c, ok, want)
			}
		case <-limit:
			t.Fatalf("tab %d is not told of cycle %d", who, want)
		}
	}
}

// deaf opens a stream over a connection that is never read.
func deaf(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET /api/r/r/events?from=m0,a0 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

// used returns what lives in memory after a collection, how many goroutines run, and how many files are open.
func used(t testing.TB) (heap int64, goroutines, files int) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc says which files are open")
	}
	return int64(m.HeapAlloc), runtime.NumGoroutine(), len(open)
}

// Eight tabs see every cycle of a living run, each once, while a ninth does not read at all: nobody waits for it, and nothing piles up for it. When they close, all is given back.
func TestEightTabs(t *testing.T) {
	g := newGrowing(t)
	s := server(t, Options{}, g.dir)
	s.look = 5 * time.Millisecond
	web := httptest.NewServer(s)
	defer web.Close()
	g.add(1, 10)
	ask(t, s, "GET", "/api/r/r/head")
	heap, _, _ := used(t)

	slow := deaf(t, web.URL)
	defer slow.Close()
	var tabs []*tab
	for range 8 {
		tabs = append(tabs, openTab(t, web.URL))
	}
	const rounds, rows, length = 20, 15, 40 << 10 // 12 MB for each: more than a connection holds that nobody reads
	seen := 0
	for range rounds {
		for i, b := range tabs {
			b.see(t, i, seen+1, g.next-1)
		}
		seen = g.next - 1
		g.add(rows, length)
	}
	for i, b := range tabs {
		b.see(t, i, seen+1, g.next-1)
	}
	if n := len(s.streams); n < 8 || n > 9 {
		t.Errorf("%d streams are open, want those of the eight tabs, and the deaf one unless it was given up", n)
	}
	// A stream holds what it is about to send, 64 KB and a row, and the follower and the connection their buffers.
	if now, _, _ := used(t); now-heap > 9*(1<<20) {
		t.Errorf("nine tabs hold %d KB, want under 1 MB each", (now-heap)>>10)
	}
	for _, b := range tabs {
		b.end()
	}
	slow.Close()
	web.Close() // waits for the answers under way
	if n := len(s.streams); n != 0 {
		t.Errorf("%d streams are open after all tabs were closed", n)
	}
}

// Half an hour of twenty rows a second would be 36,000: what the server keeps must not depend on how long it was watched, but for the numbers of the rows. So
// thousands of rows are added while two tabs stay and others come and go, and memory, goroutines and open files are those of before.
func TestLongWatch(t *testing.T) {
	g := newGrowing(t)
	s := server(t, Options{}, g.dir)
	s.look = time.Millisecond
	web := httptest.NewServer(s)
	defer web.Close()
	g.add(1, 100)
	stay := []*tab{openTab(t, web.URL), openTab(t, web.URL)}
	seen := 0
	watch := func(rounds int) {
		for range rounds {
			g.add(50, 100)
			for i, b := range stay {
				b.see(t, i, seen+1, g.next-1)
			}
			seen = g.next - 1
			ask(t, s, "GET", "/api/r/r/head")
			ask(t, s, "GET", "/api/r/r/rows?keys=rollout%2Fraw_reward&px=300&avg=auto")
			visitor, end := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(visitor, "GET", "/api/r/r/events", nil)
			r.Host = "localhost"
			end()
			s.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	watch(20)
	heap, goroutines, files := used(t)
	watch(100)
	now, more, open := used(t)
	// 5,000 rows of two series: 56 bytes a line, 12 a cycle, 8 a number, with room to grow.
	if now-heap > 2<<20 {
		t.Errorf("5,000 more rows hold %d KB, want what their numbers take", (now-heap)>>10)
	}
	if more > goroutines+2 || open > files+2 {
		t.Errorf("%d goroutines and %d files, before %d and %d", more, open, goroutines, files)
	}
	for _, b := range stay {
		b.end()
	}
}
