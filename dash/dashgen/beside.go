package dashgen

import (
	"bufio"
	"os"
)

// A beside writes files in the order they are handed to it, while the next cycles are drawn. What a job uses must not change any more.
type beside struct {
	jobs chan func() error
	done chan struct{}
	err  error // the first; whoever waited may read it
}

func newBeside() *beside {
	b := &beside{jobs: make(chan func() error, 32), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		for job := range b.jobs {
			if b.err == nil {
				b.err = job()
			}
		}
	}()
	return b
}

// wait ends when all jobs are done, and returns what went wrong first. There may be no more afterwards.
func (b *beside) wait() error {
	close(b.jobs)
	<-b.done
	return b.err
}

// A lines is a file that is written in small pieces.
type lines struct {
	*bufio.Writer
	file *os.File
}

func newLines(f *os.File) *lines { return &lines{bufio.NewWriterSize(f, 1<<18), f} }

// Close writes what is left and closes the file.
func (l *lines) Close() error {
	err := l.Flush()
	if e := l.file.Close(); err == nil {
		err = e
	}
	return err
}
