package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"furlong/metrics/disk"
	"furlong/parity/taps"
)

// RecordFormat is what record.json says of folders in the form of docs/formats/parity-record.md.
const RecordFormat = "furlong-parity-record-1"

// The files of a record.
const (
	aboutFile     = "record.json"
	sequencesFile = "sequences.jsonl"
	tapsFolder    = "taps"
)

// A head is record.json.
type head struct {
	Format string `json:"format"`
	About  About  `json:"about"`
}

// A line is one of sequences.jsonl.
type line struct {
	ID        string       `json:"id"`
	Prompt    []int32      `json:"prompt"`
	Response  []int32      `json:"response"`
	LogProbs  Figures      `json:"logprobs"`
	Generated Figures      `json:"generated,omitempty"`
	Top       []int32      `json:"top,omitempty"`
	Experts   []lineChoice `json:"experts,omitempty"`
	Index     []lineChoice `json:"index,omitempty"`
	Taps      string       `json:"taps,omitempty"` // path of a taps file in the folder
}

// A lineChoice is a [Choice] in a line.
type lineChoice struct {
	Layer int     `json:"layer"`
	First int     `json:"first,omitempty"`
	Width int     `json:"width"`
	IDs   []int32 `json:"ids"`
}

// WriteRecord writes what a side said of sequences into a folder, which is made where it is not there. Taps are of the first sequences.
// The list of sequences goes first where there is one, and is written last: a folder that was left half written is no record, and never one of two engines.
func WriteRecord(dir string, about About, seqs []Sequence, scores []Scores, sets []*taps.Set) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, sequencesFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := disk.Replace(filepath.Join(dir, aboutFile), func(w io.Writer) error {
		return indented(w, head{RecordFormat, about})
	})
	if err != nil {
		return err
	}
	names := make([]string, len(seqs))
	for i, set := range sets {
		if set == nil {
			continue
		}
		if names[i], err = writeTaps(dir, i, set); err != nil {
			return err
		}
	}
	return disk.Replace(filepath.Join(dir, sequencesFile), func(w io.Writer) error {
		e := json.NewEncoder(w)
		for i, s := range seqs {
			if err := e.Encode(lineOf(s, scores[i], names[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeTaps(dir string, i int, set *taps.Set) (string, error) {
	name := path.Join(tapsFolder, fmt.Sprintf("%06d.safetensors", i))
	if err := os.MkdirAll(filepath.Join(dir, tapsFolder), 0o755); err != nil {
		return "", err
	}
	return name, taps.Write(filepath.Join(dir, filepath.FromSlash(name)), set)
}

// indented writes a value as JSON that people can read.
func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}

func lineOf(s Sequence, c Scores, taps string) line {
	return line{
		ID: s.ID, Prompt: s.Prompt, Response: s.Response, LogProbs: c.LogProbs, Generated: s.Generated, Top: c.Top,
		Experts: toLine(c.Experts), Index: toLine(c.Index), Taps: taps,
	}
}

func toLine(all []Choice) (out []lineChoice) {
	for _, c := range all {
		out = append(out, lineChoice(c))
	}
	return out
}

func fromLine(all []lineChoice) (out []Choice) {
	for _, c := range all {
		out = append(out, Choice(c))
	}
	return out
}

// A Record is a side that was written down: it knows its own sequences and nothing else.
type Record struct {
	root  *os.Root
	about About
	seqs  []Sequence
	score []Scores
	taps  []string
	at    map[string]int // by tokens
}

// OpenRecord reads a folder in the form of docs/formats/parity-record.md. It is held to everything that the form says, and nothing outside of the
// folder is read.
func OpenRecord(dir string) (*Record, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r := &Record{root: root, at: map[string]int{}}
	if err := r.read(dir); err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

func (r *Record) read(dir string) error {
	if err := r.readAbout(); err != nil {
		return err
	}
	r.about.Side, r.about.Kind = "dir:"+dir, "record"
	if r.about.Name == "" {
		r.about.Name = "a recording"
	}
	return r.readSequences()
}

// About returns what record.json says, and the kind record.
func (r *Record) About(context.Context) (About, error) { return r.about, nil }

// Sequences returns what was recorded, in its order.
func (r *Record) Sequences() []Sequence { return r.seqs }

// Score returns what was recorded of each sequence, which must be one of the record's.
func (r *Record) Score(_ context.Context, seqs []Sequence, done func(int)) ([]Scores, error) {
	var out []Scores
	for i, s := range seqs {
		at, ok := r.at[key(s)]
		if !ok {
			return nil, fmt.Errorf("sequence %s is not in the record, which has %d: give --sequences of the record, or record these", s.ID, len(r.seqs))
		}
		out = append(out, r.score[at])
		done(i + 1)
	}
	return out, nil
}

// Taps returns the recorded taps of a sequence, nil where there are none.
func (r *Record) Taps(_ context.Context, s Sequence) (*taps.Set, error) {
	at, ok := r.at[key(s)]
	if !ok || r.taps[at] == "" {
		return nil, nil
	}
	f, err := r.open(r.taps[at])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return taps.Parse(r.taps[at], raw, s.Tokens())
}

// Close leaves the folder.
func (r *Record) Close() error { return r.root.Close() }

// key returns a text that two sequences share if their prompts and responses are the same.
func key(s Sequence) string { return fmt.Sprint(s.Prompt, s.Response) }

// open opens a file of the folder that is one: no pipe, which would hold the reader up, and no link out of the folder.
func (r *Record) open(name string) (*os.File, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("%q is no path inside the folder", name)
	}
	info, err := r.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", name)
	}
	return r.root.Open(filepath.FromSlash(name))
}

var (
	_ Side     = (*Record)(nil)
	_ Tapped   = (*Record)(nil)
	_ Recorded = (*Record)(nil)
)

// readAbout reads record.json, which may be missing.
func (r *Record) readAbout() error {
	f, err := r.open(aboutFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, longestAbout+1))
	if err != nil {
		return err
	}
	if len(raw) > longestAbout {
		return fmt.Errorf("%s has more than %d bytes", aboutFile, longestAbout)
	}
	var h head
	if err := strict(raw, &h); err != nil {
		return fmt.Errorf("%s: %w", aboutFile, err)
	}
	if h.Format != RecordFormat {
		return fmt.Errorf("%s: format is %.40q, want %q", aboutFile, h.Format, RecordFormat)
	}
	r.about = h.About
	return nil
}
