package store

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"

	"furlong/metrics/disk"
	"furlong/metrics/run"
)

const (
	bulkFrom  = 4 << 20 // bytes of a file that several readers are worth
	bulkPiece = 1 << 20
)

// bulk reads a long file by pieces, several at once; what is left is for the follower.
func (t *table) bulk() error {
	f, err := disk.OpenIn(t.root, run.RowsFile)
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

// A batch is a reader at work on a piece.
type batch struct {
	reader *rowReader
	done   chan struct{}
}

// pieces hands pieces of the file to readers and takes them in by their order, and returns where the last whole line ends. Readers are used again, with what they
// know of the look of rows.
func (t *table) pieces(f io.ReaderAt, size int64) (end int64, err error) {
	most := runtime.GOMAXPROCS(0) + 1 // readers that hold a piece
	ahead, idle := make(chan batch, most), make(chan *rowReader, most)
	for range most {
		idle <- newRowReader()
	}
	failed := make(chan error, 1)
	go func() {
		defer close(ahead)
		p := pieces{f: f, size: size}
		for {
			r := <-idle
			offset, ok, err := p.next(&r.piece)
			if !ok {
				end = p.offset
				failed <- err
				return
			}
			b := batch{r, make(chan struct{})}
			ahead <- b
			go func() { defer close(b.done); r.readAll(offset, r.piece) }()
		}
	}()
	for b := range ahead {
		<-b.done
		t.merge(b.reader)
		t.bulkSlow += b.reader.slow
		b.reader.slow = 0
		b.reader.begin()
		idle <- b.reader
	}
	return end, <-failed
}

// readAll reads all lines of a piece.
func (r *rowReader) readAll(offset int64, raw []byte) {
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\n')
		r.read(offset, raw[:i])
		offset, raw = offset+int64(i)+1, raw[i+1:]
	}
}

// pieces cuts a file into pieces of whole lines.
type pieces struct {
	f      io.ReaderAt
	size   int64
	at     int64  // up to which was read
	offset int64  // up to which was handed out
	rest   []byte // the beginning of a line
}

// next reads the next piece into buf, which grows as it must. ok is false at the end.
func (p *pieces) next(buf *[]byte) (offset int64, ok bool, err error) {
	b := append((*buf)[:0], p.rest...)
	for p.at < p.size {
		from := len(b)
		more := int(min(bulkPiece, p.size-p.at))
		b = slices.Grow(b, more)[:from+more]
		n, err := p.f.ReadAt(b[from:], p.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		if n == 0 {
			return 0, false, nil // it was cut meanwhile: the follower sees that
		}
		b, p.at = b[:from+n], p.at+int64(n)
		if i := bytes.LastIndexByte(b, '\n') + 1; i > 0 {
			p.rest = append(p.rest[:0], b[i:]...)
			*buf, offset = b[:i], p.offset
			p.offset += int64(i)
			return offset, true, nil
		}
	}
	return 0, false, nil
}
