package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furlong/quant"
	"furlong/tensor"
)

// A Report says what a conversion read, what it wrote, and what lies between the two.
type Report struct {
	FromScheme string `json:"from_scheme"`
	FromFormat string `json:"from_format"`
	Scheme     string `json:"scheme"`
	Format     string `json:"format"`
	Resumed    bool   `json:"resumed"` // an earlier attempt had done some of it

	Read        []Tensor `json:"read"`  // every tensor of the source
	Wrote       []Tensor `json:"wrote"` // every tensor of the destination
	Aside       []string `json:"aside"` // tensors of draft layers, which were not read
	ReadBytes   int64    `json:"read_bytes"`
	WroteBytes  int64    `json:"wrote_bytes"`
	ReadDigest  string   `json:"read_digest"` // of names, formats, shapes and digests, in the order of names
	WroteDigest string   `json:"wrote_digest"`

	Weights []Weight       `json:"weights"` // of the destination
	Ways    map[string]int `json:"ways"`    // weights by the way they came
	Loss    quant.Loss     `json:"loss"`    // of all weights together

	NotFinite []NotFinite `json:"not_finite"` // tensors of the source that were kept with such numbers

	Copied  []string `json:"copied"`   // other files that were copied
	LeftOut []string `json:"left_out"` // what else lies beside the source and was not
}

// A Tensor is a tensor in a file.
type Tensor struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Shape  []int  `json:"shape"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// A Weight is how a weight of the destination came about.
type Weight struct {
	Name string     `json:"name"`
	Way  string     `json:"way"`
	Loss quant.Loss `json:"loss"`
}

// NotFinite is how many numbers of a tensor are NaN or infinite.
type NotFinite struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// refused is the error for a tensor of a directory, which one of this package's says why.
func (n NotFinite) refused(dir string, why error) error {
	return fmt.Errorf("%s: tensor %q: %w: %d", dir, n.Name, why, n.Count)
}

func describe(name string, t *tensor.Tensor) Tensor {
	sum := sha256.Sum256(t.Mem)
	shape := append([]int{}, t.Shape...) // of a number alone it is empty, not nothing
	return Tensor{name, t.Type.String(), shape, int64(len(t.Mem)), hex.EncodeToString(sum[:])}
}

// report returns the report of a plan of which nothing is done. Its lists are empty, since a list of nothing is one too.
func (p *plan) report() *Report {
	return &Report{
		FromScheme: p.survey.Scheme.String(), FromFormat: formatName(p.recipe), Scheme: p.opt.Scheme.String(), Format: formatName(p.opt.Recipe),
		Read: []Tensor{}, Wrote: []Tensor{}, Aside: append([]string{}, p.survey.Aside...),
		Weights: []Weight{}, Ways: map[string]int{}, NotFinite: []NotFinite{}, Copied: []string{}, LeftOut: []string{},
	}
}

// formatName leaves out what files don't say: whether activations are rounded.
func formatName(r quant.Recipe) string {
	return strings.TrimSuffix(r.String(), "-weights")
}

func (r *Report) add(rec record) {
	r.Read, r.Wrote = append(r.Read, rec.Read...), append(r.Wrote, rec.Wrote...)
	r.Weights = append(r.Weights, Weight{rec.Unit, rec.Way, rec.Loss})
	r.Ways[rec.Way]++
	r.Loss.Add(rec.Loss)
	for _, odd := range rec.NotFinite {
		r.keep(odd)
	}
}

// keep counts numbers of a tensor that a unit was made of, and others may be.
func (r *Report) keep(odd NotFinite) {
	if i := slices.IndexFunc(r.NotFinite, func(n NotFinite) bool { return n.Name == odd.Name }); i >= 0 {
		r.NotFinite[i].Count += odd.Count
		return
	}
	r.NotFinite = append(r.NotFinite, odd)
}

// close adds everything up. A tensor that an interrupted attempt read for a unit that was done again counts once.
func (r *Report) close() {
	once := map[string]bool{}
	r.Read = slices.DeleteFunc(r.Read, func(t Tensor) bool {
		was := once[t.Name]
		once[t.Name] = true
		return was
	})
	for _, t := range r.Read {
		r.ReadBytes += t.Bytes
	}
	for _, t := range r.Wrote {
		r.WroteBytes += t.Bytes
	}
	r.ReadDigest, r.WroteDigest = digest(r.Read), digest(r.Wrote)
}

// digest depends on names and tensors alone, not on their order or on how they are spread over files.
func digest(list []Tensor) string {
	lines := make([]string, len(list))
	for i, t := range list {
		lines[i] = fmt.Sprintf("%s %s %v %s\n", t.Name, t.Format, t.Shape, t.SHA256)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// String says it for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "read   %d tensors, %d bytes: %s, named as in %s\n", len(r.Read), r.ReadBytes, r.FromFormat, r.FromScheme)
	fmt.Fprintf(&b, "wrote  %d tensors, %d bytes: %s, named as in %s\n", len(r.Wrote), r.WroteBytes, r.Format, r.Scheme)
	var ways []string
	for _, w := range slices.Sorted(maps.Keys(r.Ways)) {
		ways = append(ways, fmt.Sprintf("%s %d", w, r.Ways[w]))
	}
	fmt.Fprintf(&b, "way    %s\n", strings.Join(ways, ", "))
	fmt.Fprintf(&b, "loss   %v\n", r.Loss)
	for _, odd := range r.NotFinite {
		fmt.Fprintf(&b, "kept   %q %v: %d\n", odd.Name, ErrNotFinite, odd.Count)
	}
	if n := len(r.Aside); n > 0 {
		fmt.Fprintf(&b, "aside  %d tensors of draft layers, first %q\n", n, r.Aside[0])
	}
	if n := len(r.LeftOut); n > 0 {
		fmt.Fprintf(&b, "left   %s\n", strings.Join(r.LeftOut, ", "))
	}
	return b.String()
}
