package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"furlong/server/servertest"
)

// TestServe holds furlong serve to the numbered list of what SGLang's clients need, then runs thousands of requests with updates between them, then clients that
// mean no good.
func TestServe(t *testing.T) {
	unlessShort(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := servings{dir: dir}
	s.write(t)
	t.Run("numbers", func(t *testing.T) {
		servertest.Run(t, s.start(t), func(t *testing.T) {
			t.Run("load", func(t *testing.T) { servertest.Load(t, s.inside(t)) })
			t.Run("hostile", func(t *testing.T) { servertest.Hostile(t, s.start(t)) })
		})
	})
}

// servings are the models of the suite, in a folder of their own, and how they are served.
type servings struct{ dir string }

func (s servings) path(name string) string { return filepath.Join(s.dir, name) }

// write makes two checkpoints of one small model in each format, one under other names, one with a long context, and one with a tokenizer of its own.
func (s servings) write(t *testing.T) {
	t.Helper()
	s.imitate(t, "a", servedConfig(nil), "1", "40")
	s.imitate(t, "b", servedConfig(nil), "2", "40")
	s.imitate(t, "long", servedConfig(longContext), "3", "1")
	s.imitate(t, "spelled", servedConfig(map[string]any{"vocab_size": 576, "bos_token_id": 0, "eos_token_id": 1}), "4", "1")
	if err := os.CopyFS(s.path("spelled"), os.DirFS("../../tokenizer/testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"a", "b"} {
		for _, format := range []string{"fp8", "fp8+fp4"} {
			succeed(t, "convert", "--from", s.path(of), "--to", s.path(of+"-"+format), "--format", format, "--quiet")
		}
	}
	succeed(t, "convert", "--from", s.path("a"), "--to", s.path("a-wire"), "--format", "fp8", "--scheme", "wire", "--quiet")
	if err := os.Mkdir(s.path("room"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// imitate trains a model of cfg.
func (s servings) imitate(t *testing.T, name string, cfg map[string]any, seed, steps string) {
	t.Helper()
	raw, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at := s.path(name + ".json")
	if err := os.WriteFile(at, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	succeed(t, "sft", "--recipe", "none", "--model-config", at, "--save-hf", s.path(name), "--prompt-data", "testdata/tiny/imitate.jsonl", "--input-key", "question",
		"--num-steps", steps, "--global-batch-size", "20", "--lr", "3e-2", "--seed", seed, "--quiet")
}

// longContext has windows only, so that 131072 tokens take seconds.
var longContext = map[string]any{
	"num_hidden_layers": 2, "layer_types": []string{"sliding_attention", "sliding_attention"}, "mlp_layer_types": []string{"hash_moe", "moe"},
	"max_position_embeddings": 131328, "hidden_size": 8, "moe_intermediate_size": 4, "head_dim": 8, "num_attention_heads": 1,
}

// servedConfig is the configuration of testdata/tiny, wide enough for FP4 and with a longer context.
func servedConfig(more map[string]any) map[string]any {
	var cfg map[string]any
	raw, err := os.ReadFile("testdata/tiny/config.json")
	if err == nil {
		err = json.Unmarshal(raw, &cfg)
	}
	if err != nil {
		panic(err)
	}
	maps.Copy(cfg, map[string]any{
		"hidden_size": 32, "moe_intermediate_size": 32, "head_dim": 16, "q_lora_rank": 8, "o_lora_rank": 8, "index_topk": 8, "max_position_embeddings": 8192,
	})
	maps.Copy(cfg, more)
	return cfg
}

// flags returns the command line of a server on port.
func (s servings) flags(port int, more []string) []string {
	if !slices.Contains(more, "--model-path") {
		more = append(more, "--model-path", s.path("a"))
	}
	if !slices.Contains(more, "--context-length") {
		more = append(more, "--context-length", "4096")
	}
	return append([]string{"serve", "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--weights-root", s.dir}, more...)
}

// inside runs the command in this process, so that its goroutines can be counted.
func (s servings) inside(t *testing.T) *servertest.Target {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- dispatch(ctx, newEnv(s.flags(port, nil), null, null, null)) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("furlong serve returns %d, want %d", code, exitOK)
		}
		null.Close()
	})
	g := s.target(fmt.Sprintf("http://127.0.0.1:%d", port), s.path("a"))
	g.Goroutines = func() (int, error) { return runtime.NumGoroutine(), nil }
	g.Memory = memoryOf(os.Getpid())
	for end := time.Now().Add(60 * time.Second); !answers(t.Context(), g.URL+"/health_generate", ""); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no answer in 60 s")
		}
	}
	return g
}

// start starts furlong serve and waits until it has drawn a token. It ends with t.
func (s servings) start(t testing.TB, flags ...string) *servertest.Target {
	t.Helper()
	port := freePort(t)
	args := s.flags(port, flags)
	p := launch(t, args...)
	g := s.target(fmt.Sprintf("http://127.0.0.1:%d", port), after(args, "--model-path"))
	g.Key, g.Kill, g.Memory = after(args, "--api-key"), p.kill, memoryOf(p.cmd.Process.Pid)
	p.await(t, g.URL+"/health_generate", g.Key)
	return g
}

// target tells the suite what it may ask for.
func (s servings) target(url, model string) *servertest.Target {
	return &servertest.Target{
		URL: url, Model: model, Start: s.start, Router: startRouter,
		Weights: map[string]servertest.Pair{
			"bf16":    {A: s.path("a"), B: s.path("b")},
			"fp8":     {A: s.path("a-fp8"), B: s.path("b-fp8")},
			"fp8+fp4": {A: s.path("a-fp8+fp4"), B: s.path("b-fp8+fp4")},
		},
		Wire: s.path("a-wire"), Long: s.path("long"), Spelled: s.path("spelled"), Room: s.path("room"), Python: pythonPath(),
	}
}

// startRouter starts furlong router with no workers.
func startRouter(t testing.TB) *servertest.Target {
	t.Helper()
	port := freePort(t)
	p := launch(t, "router", "--host", "127.0.0.1", "--port", fmt.Sprint(port))
	g := &servertest.Target{URL: fmt.Sprintf("http://127.0.0.1:%d", port), Kill: p.kill}
	p.await(t, g.URL+"/liveness", "")
	return g
}

// pythonPath returns a Python interpreter, or "".
func pythonPath() string {
	if p := os.Getenv("FURLONG_TEST_PYTHON"); p != "" {
		return p
	}
	p, err := exec.LookPath("python3")
	if err != nil {
		return ""
	}
	return p
}

// after returns what follows a flag, or "".
func after(flags []string, name string) string {
	if i := slices.Index(flags, name); i >= 0 && i+1 < len(flags) {
		return flags[i+1]
	}
	return ""
}

// lastPort is what freePort gave last. Where it begins depends on the process, so that two of them seldom meet.
var lastPort atomic.Int32

func init() { lastPort.Store(int32(20_000 + os.Getpid()%10_000)) }

// freePort returns a port of the loopback that nobody listens on: below those that systems give to who asks for any, so that nobody gets it before its server does.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := lastPort.Add(1)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		return int(port)
	}
	t.Fatal("no port is free")
	return 0
}

// A program is a running furlong.
type program struct {
	cmd  *exec.Cmd
	out  lockedBuffer
	done chan struct{} // closed when it has ended
	err  error
}

// launch starts the program. At the end of t it is told to end, which it must do within a minute and, unless it was killed, in good order.
func launch(t testing.TB, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command("furlong", args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() { p.stop(t, args) })
	return p
}

func (p *program) stop(t testing.TB, args []string) {
	select {
	case <-p.done:
		if p.cmd.ProcessState.ExitCode() != -1 { // not by kill
			t.Errorf("furlong %s ended by itself: %v", strings.Join(args, " "), p.err)
		}
	default:
		p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
			if code := p.cmd.ProcessState.ExitCode(); code != exitOK && code != exitInterrupted {
				t.Errorf("furlong %s exits with %d after SIGTERM", strings.Join(args, " "), code)
			}
		case <-time.After(time.Minute):
			t.Errorf("furlong %s still runs a minute after SIGTERM", strings.Join(args, " "))
			p.kill()
		}
	}
	if t.Failed() {
		t.Logf("furlong %s said:\n%s", strings.Join(args, " "), p.out.tail())
	}
}

// kill ends the program as a crash does.
func (p *program) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// memoryOf returns what reads how much a process holds, in bytes; nil where nothing tells.
func memoryOf(pid int) func() (int64, error) {
	file := fmt.Sprintf("/proc/%d/statm", pid)
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	return func() (int64, error) {
		raw, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		var size, resident int64
		_, err = fmt.Sscan(string(raw), &size, &resident)
		return resident * int64(os.Getpagesize()), err
	}
}

// await polls until the program answers 200.
func (p *program) await(t testing.TB, url, key string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.done:
			t.Fatalf("the server ended: %v\n%s", p.err, p.out.tail())
		default:
		}
		if answers(t.Context(), url, key) {
			return
		}
	}
	t.Fatalf("no 200 from %s in 60 s\n%s", url, p.out.tail())
}

func answers(ctx context.Context, url, key string) bool {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return false
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// A lockedBuffer is written by a process while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// tail returns the end of what was written.
func (b *lockedBuffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.buf.String()
	return s[max(0, len(s)-6000):]
}
