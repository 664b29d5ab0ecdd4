package dash

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The routes that a damaged file is held against.
var damageRoutes = []string{"head", "rows?keys=rollout/raw_reward", "cycle/130", "samples?text=1", "log", "config", "time/130", "experts", "experts?c=130", "experts?layer=1", "evals", "evals/aime-2024", "evals/aime-2024?a=0&b=130", "group/130/520", "sample/130/520/0", "next?at=130/520/0"}

// damages are ways to spoil a file.
var damages = map[string]func(path string) error{
	"garbage": func(p string) error { return os.WriteFile(p, []byte("garbage here\nmore\n"), 0o644) },
	"cut": func(p string) error {
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(p, b[:len(b)/2], 0o644)
	},
	"turned": func(p string) error {
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for i := len(b) / 3; i < len(b); i += 97 {
			b[i] ^= 0x55
		}
		return os.WriteFile(p, b, 0o644)
	},
	"folder": func(p string) error {
		if err := os.Remove(p); err != nil {
			return err
		}
		return os.Mkdir(p, 0o755)
	},
}

// A damaged file takes only those answers away that are made of it alone. They name it in a sentence, without its place on this machine, and the others say what they lack.
func TestDamagedFiles(t *testing.T) {
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(from, "small"))); err != nil {
		t.Fatal(err)
	}
	tokens := []string{"sample/130/520/0", "next?at=130/520/0"}
	for file, lost := range map[string][]string{ // what may be without an answer
		"metrics.jsonl":                {"rows?keys=rollout/raw_reward", "cycle/130"},
		"alarms.jsonl":                 {},
		"log.jsonl":                    {"log"},
		"config.json":                  {"config"},
		"status.json":                  {},
		"samples/index/tail.fli":       append([]string{"group/130/520", "samples?text=1"}, tokens...),
		"samples/c000130.fls":          tokens,
		"spans/0000.jsonl":             {"time/130"},
		"experts/c000130.bin":          {"experts?c=130"},
		"experts/c000125.bin":          {},
		"eval/aime-2024/c000130.jsonl": {"evals/aime-2024?a=0&b=130"},
	} {
		for how, damage := range damages {
			path := filepath.Join(dir, file)
			sound, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			s := server(t, Options{}, dir)
			named := false
			for _, route := range damageRoutes {
				w := ask(t, s, "GET", "/api/r/small/"+route)
				body := w.Body.String()
				named = named || strings.Contains(body, filepath.Base(file)) || strings.Contains(file, "index") && strings.Contains(body, "samples/index")
				if strings.Contains(body, dir) && w.Code != 200 && !strings.Contains(body, "--reindex "+dir) {
					t.Errorf("%s %s: /%s says where the run lies: %.300s", how, file, route, body)
				}
				if w.Code == 200 {
					continue
				}
				var e struct{ Error, File, Hint string }
				if err := json.Unmarshal([]byte(body), &e); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(lost, route) || e.File == "" || e.Hint == "" {
					t.Errorf("%s %s: /%s is %d %.300s", how, file, route, w.Code, body)
				}
			}
			if w := ask(t, s, "GET", "/api/runs"); w.Code != 200 || !strings.Contains(w.Body.String(), `"small"`) {
				t.Errorf("%s %s: the list of runs is %d %.300s", how, file, w.Code, w.Body)
			}
			if !named && (how == "garbage" && file != "log.jsonl" || how == "folder" || how == "pipe" || strings.HasSuffix(file, ".bin")) {
				t.Errorf("%s %s: no answer names it", how, file)
			}
			if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, sound, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
