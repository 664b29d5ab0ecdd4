package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"furlong/api/sglang"
)

// A profiler takes one profile of the processor at a time, into files of one folder.
type profiler struct {
	dir string // "" takes none

	mu   sync.Mutex
	file *written // being taken
}

// A written is a file that remembers the first write that failed: the profiler of the runtime does not tell.
type written struct {
	*os.File
	err error
}

// Write writes until it cannot.
func (w *written) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.File.Write(b)
	w.err = err
	return n, err
}

// usable says what is wrong with the folder.
func (p *profiler) usable() error {
	if p.dir == "" {
		return nil
	}
	st, err := os.Stat(p.dir)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is no folder", p.dir)
	}
	if err != nil {
		return fmt.Errorf("--profile-dir: %w", err)
	}
	return nil
}

func (s *Server) profileRoutes() []route {
	return []route{
		{"GET|POST", "/start_profile", admin, s.startProfile},
		{"GET|POST", "/stop_profile", admin, s.stopProfile},
	}
}

func (s *Server) startProfile(w http.ResponseWriter, r *http.Request) {
	var in sglang.Profile
	if !s.readAny(w, r, &in) {
		return
	}
	name, err := s.profile.start(in, s.now())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	text(w, http.StatusOK, "profiling into %s; /stop_profile ends it", name)
}

func (s *Server) stopProfile(w http.ResponseWriter, r *http.Request) {
	name, err := s.profile.stop()
	switch {
	case err != nil:
		s.fail(w, r, fmt.Errorf("profile %s: %w", name, err))
		return
	case name == "":
		s.fail(w, r, bad("no profile is being taken, want /start_profile first"))
		return
	}
	text(w, http.StatusOK, "profile is in %s", name)
}

// start begins a profile and returns the name of its file.
func (p *profiler) start(in sglang.Profile, now time.Time) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dir == "":
		return "", refusal{http.StatusForbidden, "there is no folder for profiles, want a server started with --profile-dir"}
	case p.file != nil:
		return "", bad("a profile is being taken into %s, want /stop_profile first", p.file.Name())
	case in.OutputDir != "" && filepath.Clean(in.OutputDir) != filepath.Clean(p.dir):
		return "", refusal{http.StatusForbidden, fmt.Sprintf("output_dir is %q, want %q (--profile-dir) or none", in.OutputDir, p.dir)}
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	file, err := root.OpenFile(profileName(in, now), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	f := &written{File: file}
	if err := pprof.StartCPUProfile(f); err != nil {
		return "", errors.Join(err, f.Close())
	}
	p.file = f
	return f.Name(), nil
}

// profileName makes a file name of what a request calls a profile; whatever is no letter, digit, dot or dash becomes an underscore.
func profileName(in sglang.Profile, now time.Time) string {
	name := strings.Trim(in.Prefix+"-"+in.ID, "-")
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
			return c
		}
		return '_'
	}, name[:min(len(name), 100)])
	return strings.TrimLeft(name+"-"+now.UTC().Format("20060102T150405.000000")+".cpu.pprof", "-.")
}

// stop ends the profile that is being taken and returns the name of its file, "" when there is none.
func (p *profiler) stop() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return "", nil
	}
	pprof.StopCPUProfile() // writes the rest
	f := p.file
	p.file = nil
	closed := f.Close()
	return f.Name(), cmp.Or(f.err, closed)
}
