package wandb

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"time"
)

//go:embed sidecar.py
var sidecar string

// Options say where rows come from and under what name they go. The flags are Miles'.
type Options struct {
	Use      bool   `flag:"use-wandb" help:"give the metrics to Weights & Biases too, through its Python client"`
	Mode     string `flag:"wandb-mode" choices:"online offline disabled" help:"offline writes a directory that 'wandb sync' sends; online sends as the run goes"`
	Dir      string `flag:"wandb-dir" help:"where the client keeps its files; the run's directory if empty"`
	Project  string `flag:"wandb-project" help:"project there"`
	Group    string `flag:"wandb-group" help:"group of runs there"`
	Team     string `flag:"wandb-team" help:"team there; your own if empty"`
	Host     string `flag:"wandb-host" help:"address of a server of your own"`
	ID       string `flag:"wandb-run-id" help:"id of the run there; made from the run's directory if empty"`
	NoSuffix bool   `flag:"disable-wandb-random-suffix" help:"do not add the run's id to its name there"`
	Python   string `flag:"wandb-python" help:"interpreter that has the client"`
}

// Default returns the options of a run that has none.
func Default() Options { return Options{Mode: "offline", Project: "furlong", Python: "python3"} }

// start is the first line that the process reads.
type start struct {
	Run     string `json:"run"`
	Name    string `json:"name"`
	ID      string `json:"id,omitempty"`
	Mode    string `json:"mode"`
	Dir     string `json:"dir"`
	Project string `json:"project"`
	Group   string `json:"group,omitempty"`
	Team    string `json:"team,omitempty"`
	Host    string `json:"host,omitempty"`
	Suffix  bool   `json:"suffix"`
}

// ready is the first line that it writes.
type ready struct {
	Where string `json:"where"` // where the client keeps the run
	Error string `json:"error"`
}

// A Tracker is a process that follows one run.
type Tracker struct {
	Where string // a directory or an address

	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed when the process has ended
	err  error         // how
}

// Start begins to follow the run in directory run, whose name is name, and returns once the client is there.
func Start(ctx context.Context, o Options, run, name string, log *slog.Logger) (*Tracker, error) {
	t := &Tracker{cmd: exec.Command(o.Python, "-c", sidecar), done: make(chan struct{})} //nolint:gosec // the interpreter is the user's choice
	t.cmd.Stderr = lines{log}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("weights & biases: %w; --wandb-python names an interpreter that has its client (pip install wandb)", err)
	}
	first := make(chan ready, 1)
	go t.run(out, first)
	if o.Dir == "" {
		o.Dir = run
	}
	s := start{run, name, o.ID, o.Mode, o.Dir, o.Project, o.Group, o.Team, o.Host, !o.NoSuffix}
	sent := json.NewEncoder(t.in).Encode(s) // a process that is gone has said why
	select {
	case r := <-first:
		if r.Error != "" {
			return nil, errors.Join(errors.New("weights & biases: "+r.Error), sent, t.end(time.Second))
		}
		t.Where = r.Where
		return t, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), t.end(0))
	}
}

// run reads what the process writes, and waits for its end.
func (t *Tracker) run(out io.Reader, first chan<- ready) {
	defer close(t.done)
	in := bufio.NewScanner(out)
	var r ready
	if !in.Scan() || json.Unmarshal(in.Bytes(), &r) != nil {
		r.Error = fmt.Sprintf("its process said %.200q, want that it is ready", in.Text())
	}
	first <- r
	_, _ = io.Copy(io.Discard, out)
	t.err = t.cmd.Wait()
}

// Close has the process read the rest of the run, and waits for it that long at most.
func (t *Tracker) Close(patience time.Duration) error {
	if err := t.end(patience); err != nil {
		return fmt.Errorf("weights & biases: %w; what is missing there is in metrics.jsonl", err)
	}
	return nil
}

func (t *Tracker) end(patience time.Duration) error {
	t.in.Close()
	select {
	case <-t.done:
		return t.err
	case <-time.After(patience):
		kill := t.cmd.Process.Kill()
		<-t.done
		return errors.Join(fmt.Errorf("its process had not ended after %v and was killed", patience), kill)
	}
}

// lines logs what the process says.
type lines struct{ log *slog.Logger }

func (l lines) Write(b []byte) (int, error) {
	for s := range strings.Lines(string(b)) {
		if s = strings.TrimSpace(s); s != "" {
			l.log.Info("weights & biases", "says", s)
		}
	}
	return len(b), nil
}
