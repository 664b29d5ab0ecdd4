package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"furlong/config"
	"furlong/figure/raster"
	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/report"
	"furlong/summary"
	"furlong/verdict"
)

const reportPurpose = `Tells a run on one page, report.html in its directory: whether it lived, learned and can be trusted, seven figures, evaluations, alarms, where the time went, the settings that differ
from the recipe, ten samples token by token, and how to make it again. The page needs no script and no network and prints on A4. Finished, running, stopped and crashed runs are told alike; train writes the page when it ends.`

// reportFile is where the page of a run lies.
const reportFile = "report.html"

// reportOptions say where the page goes.
type reportOptions struct {
	Dir  string `arg:"RUN" help:"directory of a run"`
	Out  string `flag:"out" help:"file of the page; report.html in the run's directory if empty, - for standard output"`
	PNG  string `flag:"png" help:"also write each figure as a PNG file into this directory"`
	JSON bool   `flag:"json" help:"print what the page says of the run as one JSON object"`
}

// Validate reports what is wrong with o, in the words of the flags.
func (o reportOptions) Validate() error {
	if o.Out == "-" && o.JSON {
		return errors.New("--out - and --json both write to standard output: give one of them")
	}
	return nil
}

func runReport(_ context.Context, e *env) int {
	var opts reportOptions
	set := config.New("report", reportPurpose).Add("Flags", &opts)
	set.Example("furlong report runs/a", "writes runs/a/report.html")
	set.Example("furlong report runs/a --png figures", "and figures/reward.png, gap.png, pass.png, ...")
	set.Example("furlong report runs/a --out - > a.html", "the page on standard output; nothing is written to the run")
	set.Example("furlong report runs/a --json", "the same for programs")
	if code, ok := e.parse(set); !ok {
		return code
	}
	return e.fail(e.writeReport(opts))
}

func (e *env) writeReport(o reportOptions) error {
	r, err := readReport(o.Dir)
	if err != nil {
		return err
	}
	if r.Life.State == rundir.None && len(r.Rows) == 0 {
		return fmt.Errorf("%s holds no run: there are no rows in %s and no %s; name the directory that furlong train --run-dir was given", o.Dir, rundir.RowsFile, rundir.StatusFile)
	}
	s := r.Summary()
	if s.PNG, err = writePNG(r, o.PNG); err != nil {
		return err
	}
	if s.File, err = e.writePage(r, o); err != nil {
		return err
	}
	switch {
	case o.Out == "-":
		return nil
	case o.JSON:
		return json.NewEncoder(e.stdout).Encode(s)
	}
	if err := printSentences(e.stdout, s.Verdict); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%-9s %s\n", "page", s.File)
	return err
}

func readReport(dir string) (*report.Run, error) {
	self, err := rundir.Self()
	if err != nil {
		return nil, err
	}
	return report.Read(dir, self, time.Now().UTC(), report.Tokens)
}

// writePage writes the page and returns where it is.
func (e *env) writePage(r *report.Run, o reportOptions) (string, error) {
	page, err := r.HTML()
	if err != nil {
		return "", err
	}
	path := o.Out
	switch path {
	case "-":
		_, err := e.stdout.Write(page)
		return path, err
	case "":
		path = filepath.Join(o.Dir, reportFile)
	}
	if err := disk.ReplaceBytes(path, page); err != nil {
		return "", fmt.Errorf("%w; --out names another file", err)
	}
	return path, nil
}

// writePNG writes the figures into a directory, which is made.
func writePNG(r *report.Run, dir string) (paths []string, err error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, f := range r.Figures() {
		raw, err := raster.PNG(f.Figure, 2)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, f.Name+".png")
		if err := disk.ReplaceBytes(path, raw); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// tellRun writes the page of a run that has ended. Whatever goes wrong with it is a warning: it ends no run.
func (j *job) tellRun() {
	defer j.warnOf(reportFile)
	r, err := readReport(j.dir.Path())
	if err == nil {
		_, err = j.writePage(r, reportOptions{Dir: j.dir.Path()})
	}
	if err != nil {
		j.log.Warn(reportFile+" could not be made", "why", err.Error())
	}
}

// A closing is the closing table for programs.
type closing struct {
	summary.Summary
	Verdict []verdict.Sentence `json:"verdict"`
}

// words are the answers to the four questions for a run that has done what was planned. Whatever goes wrong with them is a warning, as with the page.
func (j *job) words() (all []verdict.Sentence) {
	defer j.warnOf("the run's verdict")
	self, err := rundir.Self()
	if err != nil {
		j.log.Warn("the run's verdict could not be made", "why", err.Error())
		return nil
	}
	return report.Closing(j.dir.Path(), self, time.Now().UTC(), rundir.Finished)
}

// warnOf makes of a panic a warning that something could not be made.
func (j *job) warnOf(what string) {
	if p := recover(); p != nil {
		j.log.Warn("could not be made", "what", what, "why", fmt.Sprint(p))
	}
}

func printSentences(w io.Writer, all []verdict.Sentence) error {
	for _, v := range all {
		if _, err := fmt.Fprintf(w, "%-9s %s\n", v.ID, v); err != nil {
			return err
		}
	}
	return nil
}
