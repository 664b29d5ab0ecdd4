package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
)

// A rowReader reads lines into numbers. Series have numbers of its own, so that several readers can read pieces of one file at once.
type rowReader struct {
	names  []string
	byName map[string]int32
	global []int // numbers of the same series in the table

	lines  []line
	counts []int   // of each line's numbers in ids and values
	ids    []int32 // series
	values []float64
	last   [][]byte // digits of the newest number of each series
	bad    []badLine

	expect []int32 // series of the last line in their order, which the next one likely has too
	order  []int32
	pairs  []pair
	buf    [32]byte
}

// A badLine is a line that is no row.
type badLine struct {
	offset int64
	err    error
}

// A pair is a member of a line.
type pair struct{ key, raw []byte }

func newRowReader() *rowReader { return &rowReader{byName: map[string]int32{}} }

// begin forgets lines that were read, and keeps the names.
func (r *rowReader) begin() {
	r.lines, r.counts, r.ids, r.values, r.bad = r.lines[:0], r.counts[:0], r.ids[:0], r.values[:0], r.bad[:0]
	for i := range r.last {
		r.last[i] = r.last[i][:0]
	}
}

// read takes one line in. It never fails: a line that is no row is one of the bad.
func (r *rowReader) read(offset int64, raw []byte) {
	l := line{offset: offset, bytes: int32(min(len(raw), math.MaxInt32)), cycle: -1}
	err := error(nil)
	if len(raw) > math.MaxInt32 {
		err = errors.New("row is longer than 2 GiB")
	} else {
		err = r.split(&l, raw)
	}
	if err != nil {
		r.bad = append(r.bad, badLine{offset, err})
		return
	}
	r.order = r.order[:0]
	for _, p := range r.pairs {
		v, ok := metrics.ParseNumber(p.raw)
		if !ok {
			continue // null, or no number
		}
		id := r.id(p.key)
		r.ids, r.values = append(r.ids, id), append(r.values, v)
		r.last[id] = append(r.last[id][:0], p.raw...)
		l.foreign = l.foreign || !plain(v, p.raw, r.buf[:0])
	}
	r.lines, r.counts = append(r.lines, l), append(r.counts, len(r.order))
	r.expect, r.order = r.order, r.expect
}

// split reads what names a row, and lists its series; nothing of a line that is none is kept.
func (r *rowReader) split(l *line, raw []byte) error {
	kind := ""
	r.pairs = r.pairs[:0]
	err := metrics.Fields(raw, func(key, value []byte) error {
		switch string(key) {
		case "kind":
			kind = string(value)
		case "cycle":
			return whole(&l.cycle, key, value)
		case "attempt":
			return whole(&l.attempt, key, value)
		case "step":
			l.step, _ = metrics.ParseNumber(value)
		case "time":
			l.time, _ = metrics.ParseNumber(value)
		case "version":
			v, _ := metrics.ParseNumber(value)
			l.version = uint32(v)
		default:
			r.pairs = append(r.pairs, pair{key, value})
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return errors.New("row has no kind")
	case kind != `"cycle"` && kind != `"eval"`:
		return fmt.Errorf("row has kind %.40s, want cycle or eval", kind)
	case l.cycle < 0:
		return errors.New("row has no cycle")
	case l.attempt < 1:
		return errors.New("row has no attempt")
	}
	l.eval = kind == `"eval"`
	return nil
}

func whole(to *int32, key, raw []byte) error {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%s is %.40s, want a whole number from 0", key, raw)
	}
	*to = int32(n)
	return nil
}

// plain reports whether raw is v in the digits that rows are written in.
func plain(v float64, raw, buf []byte) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return len(raw) > 0 && raw[0] == '"'
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		buf = strconv.AppendFloat(buf, v, 'e', -1, 64)
	} else {
		buf = strconv.AppendFloat(buf, v, 'f', -1, 64)
	}
	return string(buf) == string(raw)
}

// id returns the number of a series. Lines mostly have the same series in the same order, so the one that came here last time is tried first.
func (r *rowReader) id(key []byte) int32 {
	n := len(r.order)
	if n < len(r.expect) && r.names[r.expect[n]] == string(key) {
		r.order = append(r.order, r.expect[n])
		return r.expect[n]
	}
	id, ok := r.byName[string(key)]
	if !ok {
		id = int32(len(r.names))
		r.names, r.last = append(r.names, string(key)), append(r.last, nil)
		r.byName[string(key)] = id
	}
	r.order = append(r.order, id)
	return id
}

const (
	bulkFrom  = 4 << 20 // bytes of a file that several readers are worth
	bulkPiece = 1 << 20
)

// bulk reads a long file by pieces, several at once; what is left is for the follower.
func (t *table) bulk() error {
	f, err := t.root.Open(run.RowsFile)
	if err != nil {
		return nil // the follower says why, or that there is nothing yet
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < bulkFrom {
		return err
	}
	end, err := t.pieces(f, info.Size())
	t.follow = disk.FollowIn(t.root, run.RowsFile, end)
	return err
}

// pieces hands pieces of the file to readers and takes them in by their order, and returns where the last whole line ends.
func (t *table) pieces(f *os.File, size int64) (end int64, err error) {
	ahead := make(chan chan *rowReader, 2*runtime.GOMAXPROCS(0)) // how far readers may be before the table
	failed := make(chan error, 1)
	go func() {
		defer close(ahead)
		failed <- eachPiece(f, size, func(offset int64, raw []byte) {
			out := make(chan *rowReader, 1)
			ahead <- out
			go func() { out <- readPiece(offset, raw) }()
			end = offset + int64(len(raw))
		})
	}()
	for out := range ahead {
		t.merge(<-out)
	}
	return end, <-failed
}

// eachPiece calls each with pieces of whole lines.
func eachPiece(f io.ReaderAt, size int64, each func(offset int64, raw []byte)) error {
	var rest []byte
	offset := int64(0)
	for at := int64(0); at < size; {
		buf := make([]byte, len(rest)+int(min(bulkPiece, size-at)))
		copy(buf, rest)
		n, err := f.ReadAt(buf[len(rest):], at)
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return err
		}
		at += int64(n)
		buf = buf[:len(rest)+n]
		i := bytes.LastIndexByte(buf, '\n') + 1
		if i > 0 {
			each(offset, buf[:i:i])
			offset += int64(i)
		}
		rest = buf[i:]
	}
	return nil
}

// readPiece reads all lines of a piece.
func readPiece(offset int64, raw []byte) *rowReader {
	r := newRowReader()
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\n')
		r.read(offset, raw[:i])
		offset, raw = offset+int64(i)+1, raw[i+1:]
	}
	return r
}
