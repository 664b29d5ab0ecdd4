package transformers

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// bare returns a Python that sees nothing but its standard library.
func bare(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("%v: what the script does before it needs libraries is not tested", err)
	}
	name := filepath.Join(t.TempDir(), "bare")
	if err := os.WriteFile(name, []byte("#!/bin/sh\nexec '"+python+"' -E -S \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestDirectories: what can't be run is named before any library is looked for.
func TestDirectories(t *testing.T) {
	cfg := Default()
	cfg.Python = bare(t)
	for _, tt := range []struct{ name, config, want string }{
		{"no directory", "", "no such directory"},
		{"no config.json", "-", "config.json: [Errno 2] No such file or directory"},
		{"no JSON", "{", "config.json: Expecting property name"},
		{"no object", "[]", `config.json: model_type is null, want "deepseek_v4"`},
		{"another architecture", `{"model_type": "llama"}`, `config.json: model_type is "llama", want "deepseek_v4"`},
		{"quantised", `{"model_type": "deepseek_v4", "quantization_config": {"quant_method": "fp8"}}`, "convert the checkpoint to bfloat16 or float32 first"},
		{"no libraries", `{"model_type": "deepseek_v4"}`, "has no torch, no transformers, no safetensors; give it what is needed with: " + Install(cfg.Python)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := cfg
			cfg.Dir = filepath.Join(t.TempDir(), "model")
			if tt.config != "" {
				if err := os.Mkdir(cfg.Dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if tt.config != "" && tt.config != "-" {
				if err := os.WriteFile(filepath.Join(cfg.Dir, "config.json"), []byte(tt.config), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start: %v, want %q", err, tt.want)
			}
		})
	}
}

// TestScriptLeaves: a side-car whose caller is gone ends, though it is in the middle of something.
func TestScriptLeaves(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "config.json"), 0o600); err != nil {
		t.Skipf("no pipe that can be waited for: %v", err)
	}
	cmd := exec.Command(bare(t), "-u", "-c", bootstrap, strconv.Itoa(len(script)))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if _, err := io.WriteString(in, script+`{"op":"hello","dtype":"float32","threads":1,"dir":"`+dir+`"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	// The pipe opens for writing when the script has it open for reading, where it then waits.
	w, err := os.OpenFile(filepath.Join(dir, "config.json"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestScriptRefuses asks what a Process never would.
func TestScriptRefuses(t *testing.T) {
	cmd := exec.Command(bare(t), "-u", "-c", bootstrap, strconv.Itoa(len(script)))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	next, before := bufio.NewReader(out), script
	for _, tt := range []struct{ ask, want string }{
		{`{"op":"score"}`, `{"error": "score came before hello"}`},
		{`{"op":"train"}`, `{"error": "op is \"train\", want hello, score, taps or quit"}`},
		{`{"ids":[1]}`, `{"error": "KeyError: 'op'"}`},
		{`nonsense`, `{"error": "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"}`},
	} {
		if _, err := io.WriteString(in, before+tt.ask+"\n"); err != nil {
			t.Fatal(err)
		}
		before = ""
		if got, err := next.ReadString('\n'); err != nil || strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.ask, got, err, tt.want)
		}
	}
	if _, err := io.WriteString(in, `{"op":"quit"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
