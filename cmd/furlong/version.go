package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"furlong/config"
)

// A build says which binary this is, and what it was made from. What is not known is "".
type build struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the version control system
	Time     string `json:"time"`     // of the revision
	Dirty    *bool  `json:"dirty"`    // changed since the revision; null when not known
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Level    string `json:"level"` // of the instruction set: GOAMD64 or GOARM64
	Cgo      string `json:"cgo"`
}

func runVersion(_ context.Context, e *env) int {
	var opts struct {
		JSON bool `flag:"json" help:"print JSON"`
	}
	set := config.New("version", "Says which build this is: version, revision, Go, platform.").Add("Flags", &opts)
	set.Example("furlong version --json", "for a bug report or a run record")
	if code, ok := e.parse(set); !ok {
		return code
	}
	b := readBuild()
	if opts.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return e.fail(enc.Encode(b))
	}
	_, err := fmt.Fprintln(e.stdout, b)
	return e.fail(err)
}

func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{}
	}
	b := build{Module: info.Main.Path, Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			dirty := s.Value == "true"
			b.Dirty = &dirty
		case "GOOS":
			b.OS = s.Value
		case "GOARCH":
			b.Arch = s.Value
		case "GOAMD64", "GOARM64":
			b.Level = s.Value
		case "CGO_ENABLED":
			b.Cgo = s.Value
		}
	}
	return b
}

func (b build) String() string {
	revision := "revision not recorded"
	if b.Revision != "" {
		revision = "revision " + b.Revision
	}
	if b.Dirty != nil && *b.Dirty {
		revision += ", changed since"
	}
	return fmt.Sprintf("furlong %s, %s, %s %s/%s %s", b.Version, revision, b.Go, b.OS, b.Arch, b.Level)
}
