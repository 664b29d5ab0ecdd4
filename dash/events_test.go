package dash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furlong/metrics/run"
)

// An event is one that a browser would have seen.
type event struct{ id, name, data string }

// listen opens a stream and returns its events. end closes it.
func listen(t testing.TB, address, query, last string) (events <-chan event, end func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", address+"/api/r/r/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatalf("events: %s", resp.Status)
	}
	out := make(chan event, 1000)
	t.Cleanup(func() { resp.Body.Close() })
	go func() {
		defer close(out)
		var e event
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					out <- e
				}
				e = event{}
			}
		}
	}()
	return out, end
}

// wait returns the next event of a name.
func wait(t testing.TB, events <-chan event, name string) event {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("stream ended before %q", name)
			}
			if e.name == name {
				return e
			}
		case <-limit:
			t.Fatalf("no %q", name)
		}
	}
}

func cycleOf(t testing.TB, e event) int {
	t.Helper()
	var r struct{ Cycle int }
	if err := json.Unmarshal([]byte(e.data), &r); err != nil {
		t.Fatalf("row is %q: %v", e.data, err)
	}
	return r.Cycle
}

// Rows come as they are written, whole, once, also over a server that ends and begins, and from the first again when the file was replaced.
func TestEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, run.RowsFile)
	add := func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	row := func(c int) string {
		return fmt.Sprintf(`{"kind":"cycle","cycle":%d,"attempt":1,"step":%d,"time":1,"rollout/raw_reward":0.25}`+"\n", c, c)
	}
	add(row(1))
	start := func() *httptest.Server {
		s := server(t, Options{}, dir)
		s.look = time.Millisecond
		return httptest.NewServer(s)
	}
	web := start()
	events, end := listen(t, web.URL, "?from=m0,a0", "")
	if e := wait(t, events, "row"); e.data+"\n" != row(1) {
		t.Errorf("row is %q, want the line of the file", e.data)
	}
	add(row(2)[:30])
	wait(t, events, "head") // time goes on, and no row came
	add(row(2)[30:])
	e := wait(t, events, "row")
	if cycleOf(t, e) != 2 {
		t.Errorf("row is %q, want cycle 2", e.data)
	}
	if want := fmt.Sprintf("m%d,a0", len(row(1))+len(row(2))); e.id != want {
		t.Errorf("id is %s, want %s", e.id, want)
	}
	end()
	web.Close()

	add("not a row\n" + row(3) + row(4))
	web = start()
	defer web.Close()
	events, end = listen(t, web.URL, "", e.id)
	defer end()
	for want := 3; want <= 4; want++ {
		if e = wait(t, events, "row"); cycleOf(t, e) != want {
			t.Fatalf("row is %q, want cycle %d: none lost, none twice", e.data, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, run.AlarmsFile), []byte(`{"kind":"raised","id":"gap-jump","cycle":3}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, events, "alarm"); !strings.HasSuffix(e.id, ",a44") {
		t.Errorf("alarm has id %s", e.id)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wait(t, events, "reset")
	add(row(7))
	if e := wait(t, events, "row"); cycleOf(t, e) != 7 {
		t.Errorf("after the file was replaced: %q", e.data)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wait(t, events, "gone")
}

// A server that ends with its run tells its readers how the run ended, though it would not have looked again.
func TestEventsTellTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	self := run.Holder{PID: 1, Host: "here", Boot: "boot"}
	d, err := run.Create(dir, run.Options{Now: time.Now, Self: self, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := server(t, Options{}, dir)
	s.look = time.Hour
	at, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, at) }()
	events, end := listen(t, "http://"+at.Addr().String(), "", "")
	defer end()
	for _, state := range []run.State{run.Running, run.Finished} {
		if state == run.Finished {
			if err := d.End(run.Finished, "all cycles are done"); err != nil {
				t.Fatal(err)
			}
			stop()
		}
		var h struct{ State run.State }
		if err := json.Unmarshal([]byte(wait(t, events, "head").data), &h); err != nil || h.State != state {
			t.Errorf("head says %q, want %q (%v)", h.State, state, err)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// Streams have a bound, and an answer says so.
func TestStreamsAreBounded(t *testing.T) {
	s := server(t, Options{})
	for range maxStreams {
		s.streams <- struct{}{}
	}
	if w := ask(t, s, "GET", "/api/r/small/events"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d, want 503", w.Code)
	}
	<-s.streams
	if w := ask(t, s, "HEAD", "/api/r/small/events"); w.Code != 200 {
		t.Errorf("%d, want 200", w.Code)
	}
	if len(s.streams) != maxStreams-1 {
		t.Errorf("%d streams are counted, want %d", len(s.streams), maxStreams-1)
	}
}
