package samples

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// records makes n records of some rows each.
func records(n, rows int) []record {
	var all []record
	for c := range n {
		r := record{cycle: uint32(c + 1), attempt: 1}
		for i := range rows {
			r.rows = append(r.rows, Row{Cycle: r.cycle, Group: uint32(i), Reward: float32(i), GapMax: float32(c), Entropy: float32(math.NaN()), Version: 1 << 24})
		}
		all = append(all, r)
	}
	return all
}

func TestTailTornAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 1)
	add(t, w, batch(1, 1))
	path := filepath.Join(dir, "index", tailName)
	first, _ := os.ReadFile(path)
	add(t, w, batch(2, 1))
	whole, _ := os.ReadFile(path)
	for cut := range len(whole) + 1 {
		os.WriteFile(path, whole[:cut], 0o644)
		var want []string
		switch {
		case cut == len(whole):
			want = []string{"1.1=2", "2.1=2"}
		case cut >= len(first):
			want = []string{"1.1=2"}
		case cut > 0 && cut < tailHead:
			want = []string{path + ": has no sound header"}
		}
		if got := keys(t, dir); !slices.Equal(got, want) {
			t.Errorf("cut at %d: a reader sees %v, want %v", cut, got, want)
		}
		open(t, dir, 2)
		got := keys(t, dir)
		slices.Sort(got)
		if !slices.Equal(got, []string{"1.1=2", "2.1=2"}) {
			t.Errorf("cut at %d: after a start a reader sees %v, want both cycles", cut, got)
		}
	}
}

func TestTailWithAnyByteChanged(t *testing.T) {
	b := appendTailHead(nil, 0)
	var ends []int
	for _, r := range records(3, 2) {
		b = r.append(b)
		ends = append(ends, len(b))
	}
	for i := range b {
		b[i] ^= 0x40
		_, rs, _, ok := readTail(b)
		want := 0 // records before the damage
		for _, e := range ends {
			if i >= e {
				want++
			}
		}
		if i < tailHead && ok || i >= tailHead && len(rs) != want {
			t.Errorf("byte %d changed: %d records, header good %v, want %d records", i, len(rs), ok, want)
		}
		b[i] ^= 0x40
	}
}

func TestChunkRoundTrip(t *testing.T) {
	rs := records(3, 3000) // 9000 rows: two whole blocks and a part
	rs[1].source = 5
	raw := appendChunk(nil, 7, rs)
	c, err := newChunk(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Number != 7 || c.Rows != 9000 || c.Blocks() != 3 || len(c.Entries) != 3 || c.Entries[1] != (Entry{2, 1, 5, 3000, 3000}) {
		t.Errorf("chunk is %d with %d rows, %d blocks, entries %v", c.Number, c.Rows, c.Blocks(), c.Entries)
	}
	back, err := c.records()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range back {
		if !bytes.Equal(r.append(nil), rs[i].append(nil)) {
			t.Errorf("record %d is not what was written", i)
		}
	}
	for _, tt := range []struct {
		col      Column
		block    int
		min, max float64
	}{
		{ColCycle, 0, 1, 2},
		{ColCycle, 2, 3, 3},
		{ColReward, 0, 0, 2999},
		{ColReward, 2, 8192 - 6000, 2999},
		{ColEntropy, 1, math.Inf(1), math.Inf(-1)},
		{ColVersion, 0, 1 << 24, 1 << 24},
	} {
		if z := c.Zone(tt.col, tt.block); z.Min != tt.min || z.Max != tt.max {
			t.Errorf("zone of %s in block %d is %v to %v, want %v to %v", tt.col, tt.block, z.Min, z.Max, tt.min, tt.max)
		}
	}
	piece, err := c.Read(ColReward, 2, make([]byte, 0, 1<<15))
	if err != nil || len(piece) != 4*(9000-8192) || ColReward.Value(piece, 1) != 2193 {
		t.Errorf("block 2 of reward has %d bytes, %v", len(piece), err)
	}
}

func TestChunkWithAnyByteChanged(t *testing.T) {
	raw := appendChunk(nil, 1, records(2, 2))
	read := func(b []byte) error {
		c, err := newChunk(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			_, err = c.ReadRows()
		}
		return err
	}
	if err := read(raw); err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] ^= 1
		if read(raw) == nil {
			t.Errorf("byte %d changed: reads without an error", i)
		}
		raw[i] ^= 1
		if read(raw[:i]) == nil {
			t.Errorf("cut at %d: reads without an error", i)
		}
	}
}

// fill adds records of 30 rows without bodies; three make a chunk in tests.
func fill(t *testing.T, w *Writer, from, n int) {
	t.Helper()
	for c := from; c < from+n; c++ {
		r := record{cycle: uint32(c), attempt: uint32(w.o.Attempt), rows: make([]Row, 30)}
		if err := w.idx.add(r, []string{""}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSealsAt65536 fills a chunk of the usual size.
func TestSealsAt65536(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Attempt: 1, Text: text, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i, rows := range []int{65_535, 1} {
		if err := w.idx.add(record{cycle: uint32(i), attempt: 1, rows: make([]Row, rows)}, []string{""}); err != nil {
			t.Fatal(err)
		}
		if chunks, _ := filepath.Glob(filepath.Join(dir, "index", "chunk-*")); len(chunks) != i {
			t.Errorf("after record %d there are %d chunks, want %d", i, len(chunks), i)
		}
	}
}

func TestSeal(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	w := open(t, dir, 1)
	x, err := OpenIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for c := 1; c <= 7; c++ {
		fill(t, w, c, 1)
		if err := x.Refresh(); err != nil {
			t.Fatal(err)
		}
		if n := len(slices.Collect(x.Keys())); n != c || len(x.Problems) > 0 || len(x.Chunks) != c/3 {
			t.Errorf("after %d cycles a reader sees %d in %d chunks, %v", c, n, len(x.Chunks), x.Problems)
		}
	}
	w.Close()
	w = open(t, dir, 2)
	fill(t, w, 7, 2)
	want := []string{"1.1=30", "2.1=30", "3.1=30", "4.1=30", "5.1=30", "6.1=30", "7.1=30!", "7.2=30", "8.2=30"}
	if got := keys(t, dir); !slices.Equal(got, want) {
		t.Errorf("index has %v, want %v", got, want)
	}
}

// TestKilledWhileSealing stops between the chunk and the new tail.
func TestKilledWhileSealing(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 1)
	fill(t, w, 1, 2)
	chunk := filepath.Join(dir, "index", "chunk-00000.fli")
	os.WriteFile(chunk, appendChunk(nil, 0, w.idx.held), 0o644)
	want := []string{"1.1=30", "2.1=30"}
	if got := keys(t, dir); !slices.Equal(got, want) {
		t.Errorf("index has %v, want %v once", got, want)
	}
	w.Close()
	w = open(t, dir, 2)
	fill(t, w, 3, 2)
	want = append(want, "3.2=30", "4.2=30")
	if got := keys(t, dir); !slices.Equal(got, want) {
		t.Errorf("index has %v, want %v", got, want)
	}
}

func TestLostPieces(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	w := open(t, dir, 1)
	fill(t, w, 1, 6)
	w.Close()
	tail, _ := os.ReadFile(filepath.Join(index, tailName))

	os.Remove(filepath.Join(index, "chunk-00000.fli"))
	got := keys(t, dir)
	if len(got) != 4 || !strings.Contains(got[3], "chunk-00000.fli") {
		t.Errorf("without the first chunk: %v, want three cycles and the file's name", got)
	}
	os.Remove(filepath.Join(index, "chunk-00001.fli"))
	if got := keys(t, dir); len(got) != 1 || !strings.Contains(got[0], "chunks 0 to 1 are missing") {
		t.Errorf("without chunks: %v", got)
	}
	os.WriteFile(filepath.Join(index, tailName), append(appendTailHead(nil, math.MaxUint32), tail[tailHead:]...), 0o644)
	if got := keys(t, dir); len(got) != 1 || !strings.Contains(got[0], "are missing") {
		t.Errorf("with a wild number of chunks: %v", got)
	}
	os.RemoveAll(index)
	if got := keys(t, dir); got != nil {
		t.Errorf("without an index: %v", got)
	}
}

func TestAttemptsAndEvaluations(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 1)
	eval := func(cycle int, name string) Batch { b := batch(cycle, 2); b.Eval = name; return b }
	add(t, w, eval(0, "aime"))
	add(t, w, batch(1, 1))
	add(t, w, batch(2, 1))
	add(t, w, eval(2, "aime"))
	w.Close()
	w = open(t, dir, 2) // resumed after cycle 2, before its evaluation was known to be done
	add(t, w, eval(2, "aime"))
	add(t, w, eval(2, "gsm8k"))
	want := []string{"0.1aime=4", "1.1=2", "2.1=2", "2.1aime=4!", "2.2aime=4", "2.2gsm8k=4"}
	if got := keys(t, dir); !slices.Equal(got, want) {
		t.Errorf("index has %v, want %v", got, want)
	}
	x, err := OpenIndex(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"aime", "gsm8k"}; !slices.Equal(x.Sets, want) {
		t.Errorf("sets are %v, want %v", x.Sets, want)
	}
	for k, rows := range x.Tail() {
		for _, r := range rows {
			if isEval := r.Flags&Eval != 0; isEval != (k.Eval != "") || isEval && x.Sets[r.Set] != k.Eval {
				t.Errorf("row of %v has flags %v and set %q", k, r.Flags.Names(), x.Sets[r.Set])
			}
		}
	}
}

func TestParseKeep(t *testing.T) {
	for _, s := range []string{"all", "last:1", "every:10", "worst:100"} {
		if k, err := ParseKeep(s); err != nil || k.String() != s {
			t.Errorf("ParseKeep(%q) = %v, %v", s, k, err)
		}
	}
	for _, s := range []string{"", "last", "last:", "last:0", "last:-1", "every:x", "some:3", "all:3", "last:1:2"} {
		if _, err := ParseKeep(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--keep-samples is %q", s)) {
			t.Errorf("ParseKeep(%q) = %v, want an error in the flag's words", s, err)
		}
	}
}

func TestKeepDrops(t *testing.T) {
	gaps := map[uint32]float32{1: .1, 2: .9, 3: .5, 4: .9, 10: .2, 11: 0}
	for _, tt := range []struct {
		keep string
		want []uint32
	}{
		{"all", nil},
		{"last:1", []uint32{1, 2, 3, 4, 10}},
		{"last:4", []uint32{1, 2}},
		{"last:9", nil},
		{"every:5", []uint32{1, 2, 3, 4}},
		{"every:1", nil},
		{"every:2", []uint32{1, 3}},
		{"worst:1", []uint32{1, 2, 3, 10}},
		{"worst:3", []uint32{1, 10}},
		{"worst:99", nil},
	} {
		k, err := ParseKeep(tt.keep)
		if err != nil {
			t.Fatal(err)
		}
		got := k.drop(gaps)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s drops %v, want %v", tt.keep, got, tt.want)
		}
	}
	if got := (Keep{"last", 1}).drop(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestRetainKeepsRows(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 1)
	for c := 1; c <= 4; c++ {
		add(t, w, batch(c, 1))
		b := batch(c, 1)
		b.Eval = "aime"
		add(t, w, b)
	}
	w.Close()
	w = open(t, dir, 2)
	rows := keys(t, dir)
	k, _ := ParseKeep("last:2")
	if n, err := w.Retain(k); n != 4 || err != nil {
		t.Errorf("Retain = %d, %v, want 4", n, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.fls"))
	if len(left) != 4 || filepath.Base(left[0]) != "c000003-aime.fls" {
		t.Errorf("bodies left are %v", left)
	}
	if got := keys(t, dir); !slices.Equal(got, rows) || len(rows) != 8 {
		t.Errorf("index has %v, want all of %v", got, rows)
	}
}

func TestReindex(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	w := open(t, dir, 1)
	for c := 1; c <= 4; c++ {
		add(t, w, batch(c, 1))
	}
	b := batch(4, 1)
	b.Eval = "aime"
	add(t, w, b)
	keep, _ := ParseKeep("every:2")
	if _, err := w.Retain(keep); err != nil { // cycles 1 and 3 are in the index only
		t.Fatal(err)
	}
	w.Close()
	want := keys(t, dir)
	for _, tt := range []struct {
		name   string
		damage func()
		out    string
		want   []string
		bodies int
		lost   int
	}{
		{"nothing wrong", func() {}, "", want, 0, 0},
		{"into another folder", func() {}, filepath.Join(t.TempDir(), "cache"), want, 0, 0},
		{"killed while it took its place", func() { os.Rename(index, index+aside) }, "", want, 0, 0},
		{"last record damaged", func() { flip(t, filepath.Join(index, tailName), -1) }, "", want, 1, 0},
		{"index gone", func() { os.RemoveAll(index) }, "", []string{"2.1=2", "4.1=2", "4.1aime=2"}, 3, 0},
	} {
		tt.damage()
		rep, err := Reindex(dir, tt.out, quiet())
		if err != nil || rep.Bodies != tt.bodies || len(rep.Lost) != tt.lost {
			t.Errorf("%s: Reindex = %+v, %v, want %d bodies, %d lost", tt.name, rep, err, tt.bodies, tt.lost)
		}
		at := dir
		if tt.out != "" {
			at = t.TempDir()
			os.Rename(tt.out, filepath.Join(at, "index"))
		}
		got := keys(t, at)
		slices.Sort(got)
		if slices.Sort(tt.want); !slices.Equal(got, tt.want) {
			t.Errorf("%s: index has %v, want %v", tt.name, got, tt.want)
		}
	}
	if _, err := Reindex(dir, index, quiet()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("Reindex into the old index = %v", err)
	}
}

// flip changes a byte, counted from the end if at is negative.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[(at+len(b))%len(b)] ^= 1
	os.WriteFile(path, b, 0o644)
}

func TestDamagedChunk(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 1)
	fill(t, w, 1, 4)
	w.Close()
	flip(t, filepath.Join(dir, "index", "chunk-00000.fli"), -1)
	got := keys(t, dir)
	if len(got) != 2 || got[0] != "4.1=30" || !strings.Contains(got[1], "column gap_pos block 0 has checksum") {
		t.Errorf("a reader sees %v, want cycle 4 and the damage named", got)
	}
	rep, err := Reindex(dir, "", quiet())
	if err != nil || len(rep.Lost) != 1 || rep.Rows != 30 {
		t.Errorf("Reindex = %+v, %v, want one piece lost and 30 rows", rep, err)
	}
}

func TestNamesOfSetsComeBack(t *testing.T) {
	for _, withBodies := range []bool{true, false} {
		dir := t.TempDir()
		w := open(t, dir, 1)
		add(t, w, batch(1, 2))
		w.Close()
		os.Remove(filepath.Join(dir, "index", setsName))
		want := []string{"gsm8k", "math"}
		if !withBodies {
			os.Remove(filepath.Join(dir, Name(1, "")))
			want = []string{"set-0", "set-1"}
		}
		w = open(t, dir, 2)
		if !slices.Equal(w.idx.sets, want) {
			t.Errorf("bodies there: %v: sets are %v, want %v", withBodies, w.idx.sets, want)
		}
	}
}

func TestUnreadableBodyIsNamed(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	os.WriteFile(filepath.Join(dir, Name(5, "")), []byte("FURL"), 0o644)
	w, err := Open(dir, Options{Attempt: 1, Text: text, Log: slog.New(slog.NewTextHandler(io.Writer(&log), nil))})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if !strings.Contains(log.String(), "body left out of the index") || !strings.Contains(log.String(), Name(5, "")) {
		t.Errorf("log says %q, want the body's name", log.String())
	}
}

func TestTooManySets(t *testing.T) {
	sets := make([]string, maxSetNumber+1)
	for i := range sets {
		sets[i] = fmt.Sprint(i)
	}
	if _, n, err := setNumber(sets, "255"); n != 255 || err != nil {
		t.Errorf("setNumber of the last = %d, %v", n, err)
	}
	if _, _, err := setNumber(sets, "one more"); err == nil {
		t.Error("a 257th set was taken")
	}
}
