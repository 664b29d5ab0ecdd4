package reward

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"furlong/rl"
)

// A Program judges by lines: it is started when a sample needs it, kept for the next one, and ended when it fails or does not
// answer in time. Several goroutines may use it at once; each has a process of its own. Close ends those that wait.
type Program struct {
	command   []string
	rewardKey string

	mu     sync.Mutex
	idle   []*process
	closed bool
}

// A process is one that runs.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// NewProgram returns the judge that a command line starts. Its standard error is ours.
func NewProgram(line, rewardKey string) (*Program, error) {
	command := strings.Fields(line)
	if len(command) == 0 {
		return nil, errors.New("--custom-rm-command is empty, want a program and its arguments")
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("--custom-rm-command: %w", err)
	}
	return &Program{command: command, rewardKey: rewardKey}, nil
}

// Reward asks one process about one sample.
func (p *Program) Reward(ctx context.Context, s *rl.Sample) error {
	text, err := ask(s)
	if err != nil {
		return err
	}
	c, err := p.take()
	if err != nil {
		return err
	}
	answer, err := c.exchange(ctx, append(text, '\n'))
	if err == nil {
		p.put(c)
		err = settle(s, answer, p.rewardKey)
	} else {
		c.end()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.command[0], err)
	}
	return nil
}

// exchange writes a line and reads one. When ctx ends the process is killed with all that it started, which ends both.
func (c *process) exchange(ctx context.Context, line []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { kill(c.cmd.Process) })
	defer stop()
	_, err := c.in.Write(line)
	var answer []byte
	if err == nil {
		answer, err = c.readLine()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, io.EOF):
		return nil, errors.New("ended without an answer")
	}
	return answer, err
}

// readLine reads a line that is not too long.
func (c *process) readLine() (line []byte, err error) {
	for {
		part, err := c.out.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > longestAnswer:
			return nil, fmt.Errorf("answers with a line longer than %d bytes", longestAnswer)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// take returns a process that waits, or starts one.
func (p *Program) take() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("judge is closed")
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, nil
	}
	return p.start()
}

func (p *Program) start() (*process, error) {
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Stderr = os.Stderr
	leadGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("--custom-rm-command: %w", err)
	}
	return &process{cmd, in, bufio.NewReader(out)}, nil
}

// put keeps a process for the next sample.
func (p *Program) put(c *process) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if closed {
		c.end()
	}
}

// end ends a process and waits for it.
func (c *process) end() {
	_ = c.in.Close()
	kill(c.cmd.Process)
	_ = c.cmd.Wait()
}

// Close ends the processes that wait; those at work end with their samples.
func (p *Program) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		c.end()
	}
	return nil
}
