package store

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
	"furlong/verdict"
)

// A card is what the list knows of a run's files as long as they do not change.
type card struct {
	size    int64
	changed time.Time
	run     api.Run
}

// List answers the runs, newest first. after is the name of the last of the page before.
func (s *Shelf) List(after string, limit int) (*api.Runs, error) {
	if limit < 1 || limit > 5000 {
		return nil, asked(Wrong, "limit is %d, want 1 to 5,000", limit)
	}
	now := s.o.Now()
	out := &api.Runs{Runs: []api.Run{}, Now: metrics.Unix(now), Dirs: slices.Clone(s.dirs)}
	for _, dir := range s.find() {
		out.Runs = append(out.Runs, s.about(dir, now))
	}
	slices.SortStableFunc(out.Runs, func(a, b api.Run) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(a.Run, b.Run))
	})
	if after != "" {
		i := slices.IndexFunc(out.Runs, func(r api.Run) bool { return r.Run == after })
		if i < 0 {
			return nil, asked(Missing, "there is no run %q to go on after", after).hint("ask for the first page again")
		}
		out.Runs = out.Runs[i+1:]
	}
	if len(out.Runs) > limit {
		out.Runs = out.Runs[:limit]
		out.Next = out.Runs[limit-1].Run
	}
	return out, nil
}

// about returns what the list says of a run.
func (s *Shelf) about(dir string, now time.Time) api.Run {
	s.mu.Lock()
	id, c := s.name(dir), s.cards[dir]
	s.mu.Unlock()
	info, err := os.Lstat(filepath.Join(dir, run.RowsFile))
	if err == nil && info.Mode().IsRegular() && (info.Size() != c.size || !info.ModTime().Equal(c.changed) || c.run.Run == "") {
		c = readCard(dir, info)
		s.mu.Lock()
		s.cards[dir] = c
		s.mu.Unlock()
	}
	o := c.run
	if o.Spark == nil {
		o.Spark = []api.Number{}
	}
	o.Run, o.Dir = id, dir
	life, err := run.ReadLife(dir, s.o.Self, now, 0)
	if err != nil {
		o.Error = plainError(err)
	}
	st := life.Status
	o.State, o.Planned, o.Started, o.Age, o.Exit = string(life.State), st.Planned, cmp.Or(st.Started, life.Holder.Started), life.Age.Seconds(), st.Exit
	o.Cycle = max(o.Cycle, st.Cycle)
	o.Alarms = standing(dir)
	return o
}

// readCard reads the end of metrics.jsonl, and rewards spread over it.
func readCard(dir string, info os.FileInfo) card {
	c := card{size: info.Size(), changed: info.ModTime(), run: api.Run{Run: "?"}}
	f, err := disk.Open(filepath.Join(dir, run.RowsFile))
	if err != nil {
		c.run.Error = plainError(err)
		return c
	}
	defer f.Close()
	for _, n := range []int64{4 << 10, 64 << 10} {
		if lastRows(f, info.Size(), n, &c.run) {
			break
		}
	}
	c.run.Spark = spark(f, info.Size())
	return c
}

// lastRows reads the newest row of a cycle and of an evaluation from the last n bytes, and reports whether both were there.
func lastRows(f io.ReaderAt, size, n int64, o *api.Run) bool {
	n = min(n, size)
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, size-n); err != nil {
		return true
	}
	end := bytes.LastIndexByte(buf, '\n')
	if end < 0 {
		return n == size
	}
	row, eval := false, false
	lines := bytes.Split(buf[:end], []byte("\n"))
	if n < size {
		lines = lines[1:] // it begins before the piece
	}
	for _, l := range slices.Backward(lines) {
		r, err := metrics.ParseRow(l)
		switch {
		case err != nil:
		case r.Kind == metrics.Cycle && !row:
			row = true
			o.Cycle, o.Reward, o.Gap = r.Cycle, in(l, rewardKey, lossKey), in(l, gapMean)
		case r.Kind == metrics.Eval && !eval:
			eval = true
			o.Pass1 = pass1(l)
		}
		if row && eval {
			return true
		}
	}
	return n == size
}

// in returns the number of the first of some series that a row has.
func in(line []byte, keys ...string) api.Number {
	found := make([]api.Number, len(keys))
	_ = metrics.Fields(line, func(key, raw []byte) error {
		if i := slices.Index(keys, string(key)); i >= 0 {
			if _, ok := metrics.ParseNumber(raw); ok {
				found[i] = api.Number(jsonNumber(raw))
			}
		}
		return nil
	})
	return cmp.Or(found...)
}

// pass1 returns pass@1 of the first held-out set of a row of evaluations.
func pass1(line []byte) (out api.Number) {
	_ = metrics.Fields(line, func(key, raw []byte) error {
		if k := string(key); out == "" && strings.HasPrefix(k, "eval/") && strings.HasSuffix(k, "-pass@1") {
			out = api.Number(jsonNumber(raw))
		}
		return nil
	})
	return out
}

// sparks is how many points a run's line in the list has.
const sparks = 40

// spark returns rewards of rows spread over a file: of every one, or, in a long file, of those that some pieces of it hold.
func spark(f io.ReaderAt, size int64) []api.Number {
	out := []api.Number{}
	key := []byte(`"` + rewardKey + `":`)
	if size <= 256<<10 {
		buf := make([]byte, size)
		if _, err := f.ReadAt(buf, 0); err != nil {
			return out
		}
		var all []api.Number
		for at := bytes.Index(buf, key); at >= 0; at = bytes.Index(buf, key) {
			buf = buf[at+len(key):]
			if n, ok := upTo(buf); ok {
				all = append(all, n)
			}
		}
		for i := range min(sparks, len(all)) {
			out = append(out, all[i*(len(all)-1)/max(min(sparks, len(all))-1, 1)])
		}
		return out
	}
	buf := make([]byte, 16<<10)
	for i := range int64(sparks) {
		n, _ := f.ReadAt(buf, (size-int64(len(buf)))*i/(sparks-1)) // what is there is enough
		if at := bytes.Index(buf[:n], key); at >= 0 {
			if v, ok := upTo(buf[at+len(key) : n]); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

// upTo returns the number that buf begins with, if its end is there too.
func upTo(buf []byte) (api.Number, bool) {
	end := bytes.IndexAny(buf, ",}\n")
	if end < 0 {
		return "", false
	}
	v, ok := metrics.ParseNumber(bytes.TrimSpace(buf[:end]))
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return "", false
	}
	return api.Number(bytes.TrimSpace(buf[:end])), true
}

// standing counts the alarms that were raised and not cleared, as far as the end of the file tells.
func standing(dir string) int {
	f, err := disk.Open(filepath.Join(dir, run.AlarmsFile))
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	var all []run.Alarm
	from := max(0, info.Size()-(64<<10))
	_ = eachLine(f, from, info.Size(), func(_ int64, raw []byte, whole bool) bool {
		if a, err := run.ParseAlarm(raw); err == nil && whole {
			all = append(all, a)
		}
		return true
	})
	n := 0
	for _, a := range verdict.Fold(all, nil) {
		n += one(!a.Cleared)
	}
	return n
}
