package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// Rows go to workers in batches of this size at most.
const (
	batchRows  = 256
	batchBytes = 1 << 20
)

// An item is a row on its way through the workers.
type item struct {
	number         int
	offset         int64
	text           []byte
	blank, outside bool
	err            error

	row      row
	tokens   int
	id       key // of the id, the content and the text
	content  key
	textKey  key
	digested []byte // what the set's digest takes of it
}

// A batch is rows that one worker looks at. Its items are the worker's until ready is closed, then the loader's.
type batch struct {
	items []item
	err   error // the file cannot be read any further
	done  int64 // bytes of the file read so far
	ready chan struct{}
}

// parallel reads the file, has workers look at its rows, and takes them in the file's order.
func (l *loader) parallel() error {
	workers := l.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	todo, order := make(chan *batch), make(chan *batch, 2*workers) // what is in flight is bounded by order
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(order)
		defer close(todo)
		l.feed(todo, order, stop)
	})
	for range workers {
		wg.Go(func() {
			for b := range todo {
				for i := range b.items {
					l.look(&b.items[i])
				}
				close(b.ready)
			}
		})
	}
	err := l.collect(order)
	close(stop)
	for range order { // let the reader end
	}
	wg.Wait()
	return err
}

// feed cuts the file into batches.
func (l *loader) feed(todo, order chan<- *batch, stop <-chan struct{}) {
	n := 0 // rows that are not blank
	for last := false; !last; {
		b := &batch{ready: make(chan struct{})}
		last = l.cut(b, &n)
		for _, to := range []chan<- *batch{order, todo} {
			select {
			case to <- b:
			case <-stop:
				return
			}
		}
	}
}

// cut fills a batch and reports whether it is the last.
func (l *loader) cut(b *batch, n *int) (last bool) {
	size := 0
	for len(b.items) < batchRows && size < batchBytes {
		r, err := l.in.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.err = err
			}
			return true
		}
		it := item{number: r.Number, offset: r.Offset, blank: r.Text == nil && r.Fault == nil}
		if !it.blank {
			it.outside = *n < l.part.rows.from || *n >= l.part.rows.to
			*n++
		}
		if !it.outside {
			it.text = bytes.Clone(r.Text)
			size += len(it.text)
			if r.Fault != nil {
				it.err = malformed{r.Fault.Error()}
			}
		}
		b.items = append(b.items, it)
	}
	b.done = l.in.Done()
	return false
}

// look parses a row and does what needs nothing but that row.
func (l *loader) look(it *item) {
	if it.blank || it.outside || it.err != nil {
		return
	}
	if it.row, it.err = l.parse(it.text, true); it.err != nil {
		return
	}
	r := &it.row
	it.tokens, r.tokens = len(r.tokens), nil
	it.id, it.textKey, it.content = keyOf(r.id), keyOf(r.text), key(r.content()[:16])
	it.digested = fmt.Appendf(nil, "%q %q %q\n", r.id, r.text, r.label)
	if r.metadata != nil {
		it.digested = fmt.Appendf(it.digested, "%q\n", r.metadata)
	}
	r.text, r.metadata = "", nil
}

// collect takes the batches in order.
func (l *loader) collect(order <-chan *batch) error {
	for b := range order {
		<-b.ready
		for i := range b.items {
			if err := l.take(&b.items[i]); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		if l.Progress != nil {
			l.Progress(b.done, l.in.Size())
		}
	}
	return nil
}
