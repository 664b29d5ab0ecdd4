package transformers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// bootstrap reads the script from where questions come from afterwards, so that no file has to lie anywhere. Modules are not looked for in the
// folder that the command happens to run in.
const bootstrap = `import sys
sys.path[:] = [p for p in sys.path if p]
exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), "sidecar.py", "exec"))`

// grace is how long a process that was asked to end, or has begun to, may take.
const grace = 10 * time.Second

// A Process is a side-car with a checkpoint loaded. Its methods may be called at the same time; questions are answered one after the other. It must be closed.
type Process struct {
	cfg   Config
	hello Hello

	turn chan struct{} // holds one token: whoever has it may ask
	in   io.WriteCloser
	out  *bufio.Reader
	said tail
	cmd  *exec.Cmd

	dir   string // where taps are left for us
	files atomic.Int64

	once   sync.Once // around the end; what follows is written there
	why    error     // what we ended it for; nil if it ended by itself
	status error     // what it left with
	unbind func() bool
}

// Start runs a side-car and has it load cfg.Dir. The process lives until Close, or until ctx ends.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p, err := launch(cfg)
	if err != nil {
		return nil, fmt.Errorf("transformers: %w", err)
	}
	p.unbind = context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })
	r, err := p.ask(ctx, question{Op: "hello", Dir: cfg.Dir, Dtype: cfg.Dtype, Threads: cfg.Threads})
	if err == nil {
		p.hello = r.Hello
		err = p.hello.check(cfg)
	}
	if err != nil {
		p.unbind()
		p.end(errClosed)
		return nil, err
	}
	return p, nil
}

// launch starts the interpreter and gives it the script.
func launch(cfg Config) (*Process, error) {
	dir, err := os.MkdirTemp("", "furlong-taps-")
	if err != nil {
		return nil, err
	}
	p := &Process{cfg: cfg, turn: make(chan struct{}, 1), dir: dir}
	p.cmd = exec.Command(cfg.Python, "-u", "-c", bootstrap, strconv.Itoa(len(script)))
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, grace
	if err := p.run(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; want a Python 3 that has torch and transformers", err), os.RemoveAll(dir))
	}
	p.turn <- struct{}{}
	return p, nil
}

func (p *Process) run() error {
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<16)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	return p.cmd.Start()
}

// check holds what was loaded against what was asked for.
func (h *Hello) check(cfg Config) error {
	switch {
	case h.Dtype != cfg.Dtype:
		return fmt.Errorf("transformers: hello: dtype is %q, want %q", h.Dtype, cfg.Dtype)
	case h.Vocab < 1 || h.MaxPositions < 1 || h.Layers < 1:
		return fmt.Errorf("transformers: hello: vocabulary %d, positions %d, layers %d, want all of them above 0", h.Vocab, h.MaxPositions, h.Layers)
	}
	return nil
}

// Hello returns what was loaded.
func (p *Process) Hello() Hello { return p.hello }

// ask puts one question and waits for its answer. If ctx ends or time runs out meanwhile, that is the end of the process: nobody
// could tell what it would answer next.
func (p *Process) ask(ctx context.Context, q question) (*reply, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, fmt.Errorf("transformers: %s: %w", q.Op, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, fmt.Errorf("no answer in %v: %w", p.cfg.Timeout, context.DeadlineExceeded))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })
	defer stop()

	line, err := p.exchange(q)
	if err != nil {
		return nil, p.ended(q.Op, err)
	}
	r, err := parse(line, p.cfg.Python)
	if bad := (*nonsense)(nil); errors.As(err, &bad) {
		return nil, p.ended(q.Op, bad)
	}
	if err != nil {
		return nil, fmt.Errorf("transformers: %s: %w", q.Op, err)
	}
	return r, nil
}

// exchange writes a question, behind the script if it is the first, and reads a line.
func (p *Process) exchange(q question) ([]byte, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if q.Op == "hello" {
		line = append([]byte(script), line...)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return readLine(p.out, p.cfg.MaxAnswer)
}

// ended ends the process after a failed exchange and says why it is no more.
func (p *Process) ended(op string, err error) error {
	if bad := (*nonsense)(nil); !errors.As(err, &bad) && !errors.Is(err, errLong) {
		err = nil // a broken pipe: the process knows better why
	}
	p.end(err)
	switch {
	case p.why != nil:
		return fmt.Errorf("transformers: %s: side-car was ended: %w", op, p.why)
	case p.status != nil:
		return fmt.Errorf("transformers: %s: side-car died: %w; the last it said:\n%s", op, p.status, p.said.String())
	}
	return fmt.Errorf("transformers: %s: side-car has left; the last it said:\n%s", op, p.said.String())
}

// end has the process end, at once if there is a reason, and returns when it is gone.
func (p *Process) end(why error) {
	p.once.Do(func() {
		p.why = why
		_ = p.in.Close() // it may be gone already
		wait := grace
		if why != nil {
			wait = 0
		}
		timer := time.AfterFunc(wait, func() { _ = p.cmd.Process.Kill() })
		defer timer.Stop()
		p.status = p.cmd.Wait()
		_ = os.RemoveAll(p.dir) // taps that nobody came for
	})
}

var errClosed = errors.New("it was closed")

// Close ends the process and waits until it is gone: by a word if it is idle, by force if it is asked something at this moment. It may be called again.
func (p *Process) Close() error {
	p.unbind()
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
		_, _ = io.WriteString(p.in, `{"op":"quit"}`+"\n") // it may be gone already
		p.end(nil)
	default:
		p.end(errClosed)
	}
	if p.why == nil && p.status != nil {
		return fmt.Errorf("transformers: close: %w; the last it said:\n%s", p.status, p.said.String())
	}
	return nil
}

// A tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

const tailBytes = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if n := len(t.last) - tailBytes; n > 0 {
		t.last = append(t.last[:0], t.last[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
