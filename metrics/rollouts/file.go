package rollouts

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/rl"
	"furlong/tensor"
)

// Format names what is written here, in the metadata of a file.
const Format = "furlong-rollouts-1"

// MostSamples is how many samples a file may have.
const MostSamples = 1 << 20

// Rollouts are the samples of one cycle, whole groups in order.
type Rollouts struct {
	Cycle   int
	Model   string // what drew them, in words
	Origin  Origin
	Samples []*rl.Sample
}

// An Origin says by digests which policy the run began with that recorded something. What is not known is "".
type Origin struct {
	Shape   string // of its layers and widths
	Weights string
}

// Differs says in what two policies differ that are both known; "" for nothing.
func (o Origin) Differs(from Origin) (what string) {
	switch {
	case o.Shape != "" && from.Shape != "" && o.Shape != from.Shape:
		return "another shape"
	case o.Weights != "" && from.Weights != "" && o.Weights != from.Weights:
		return "other weights"
	}
	return ""
}

// Write writes a file, whole or not at all, and makes its folder if need be. Equal rollouts make equal bytes.
func Write(path string, r Rollouts) error {
	w := &walk{columns: map[string]*tensor.Tensor{}}
	if err := w.lay(r.Samples); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	entries, sums := w.contents()
	raw, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	about := map[string]string{"format": Format, "cycle": strconv.Itoa(r.Cycle), "model": strings.ToValidUTF8(r.Model, "\ufffd"), "crc32c": string(raw)}
	for key, v := range map[string]string{"shape": r.Origin.Shape, "weights": r.Origin.Weights} {
		if v != "" {
			about[key] = v
		}
	}
	out, err := safetensors.Create(path, entries, about)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, out.Write(e.Name, w.columns[e.Name]))
	}
	return errors.Join(err, out.Close())
}

// lay fills the columns. Samples of one prompt that follow each other name it once.
func (w *walk) lay(all []*rl.Sample) error {
	if len(all) > MostSamples {
		return fmt.Errorf("%d samples, want at most %d", len(all), MostSamples)
	}
	var prompts []*rl.Prompt
	flats := make([]*flat, len(all))
	for i, s := range all {
		if s.Prompt == nil {
			return fmt.Errorf("sample %d has no prompt", i)
		}
		if last := len(prompts) - 1; last < 0 || prompts[last] != s.Prompt && !reflect.DeepEqual(prompts[last], s.Prompt) {
			prompts = append(prompts, s.Prompt)
		}
		flats[i] = flatten(s, len(prompts)-1)
		if err := flats[i].check(); err != nil {
			return fmt.Errorf("prompt %s, sample %d: %w", s.Prompt.ID, s.Index, err)
		}
	}
	promptFields(w, prompts)
	sampleFields(w, flats)
	return distinct(all)
}

// contents lists the columns by name, with the checksum of each.
func (w *walk) contents() (entries []checkpoint.Entry, sums map[string]string) {
	sums = map[string]string{}
	for name, t := range w.columns {
		entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.InfoOf(t)})
		sums[name] = sum(t)
	}
	slices.SortFunc(entries, func(a, b checkpoint.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, sums
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the CRC-32C of a column in eight hexadecimal digits.
func sum(t *tensor.Tensor) string { return fmt.Sprintf("%08x", crc32.Checksum(t.Mem, castagnoli)) }

// Read reads what Write wrote, or the body of a cycle that package samples wrote (.fls). Of the latter, what the trainer found is left out, as it is in
// rollouts that were not trained on yet.
func Read(path string) (*Rollouts, error) {
	if strings.HasSuffix(path, ".fls") {
		return readBody(path)
	}
	if strings.HasSuffix(path, ".pt") || strings.HasSuffix(path, ".pkl") {
		return nil, fmt.Errorf("%s: is a pickle by its name, which is a program and is not run here; want a safetensors file as docs/formats/rollouts.md has it", path)
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := parse(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Probe reports what the head of a file already shows: that it is none of rollouts, or cut off.
func Probe(path string) error {
	if strings.HasSuffix(path, ".fls") {
		_, err := os.Stat(path)
		return err
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	format := f.Metadata()["format"]
	if err := f.Close(); err != nil {
		return err
	}
	if format != Format {
		return fmt.Errorf("%s: format is %.40q, want %q", path, format, Format)
	}
	return nil
}

// parse reads an open file. Nothing of it is kept.
func parse(f *safetensors.File) (*Rollouts, error) {
	about := f.Metadata()
	if got := about["format"]; got != Format {
		return nil, fmt.Errorf("format is %.40q, want %q", got, Format)
	}
	cycle, err := strconv.Atoi(about["cycle"])
	if err != nil || cycle < 0 {
		return nil, fmt.Errorf("cycle is %.40q, want a number from 0 on", about["cycle"])
	}
	w := &walk{file: f}
	if crc := about["crc32c"]; crc != "" {
		if err := json.Unmarshal([]byte(crc), &w.sums); err != nil {
			return nil, fmt.Errorf("crc32c: %w", err)
		}
	}
	all, err := w.samples()
	return &Rollouts{Cycle: cycle, Model: about["model"], Origin: Origin{about["shape"], about["weights"]}, Samples: all}, err
}

// samples takes the samples from the columns.
func (w *walk) samples() ([]*rl.Sample, error) {
	prompts := make([]*rl.Prompt, w.rows("prompt.group"))
	for i := range prompts {
		prompts[i] = &rl.Prompt{}
	}
	flats := make([]*flat, w.rows("sample.prompt"))
	for i := range flats {
		flats[i] = &flat{s: &rl.Sample{Sampling: rl.DefaultSampling()}}
	}
	promptFields(w, prompts)
	sampleFields(w, flats)
	if w.err != nil {
		return nil, w.err
	}
	all := make([]*rl.Sample, len(flats))
	for i, f := range flats {
		if f.prompt < 0 || f.prompt >= len(prompts) {
			return nil, fmt.Errorf("sample %d: sample.prompt is %d, want 0 to %d", i, f.prompt, len(prompts)-1)
		}
		f.s.Prompt = prompts[f.prompt]
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		all[i] = f.restore()
	}
	return all, distinct(all)
}
