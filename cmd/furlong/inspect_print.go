package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"furlong/model/dsv4"
	"furlong/orchestrator"
)

// print writes c for people.
func (c *contents) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.Path, c.Kind)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if c.Loop != nil {
		printLoop(tw, c.Loop)
	}
	if o := c.Optimizer; o != nil {
		fmt.Fprintf(tw, "optimizer\t%s steps taken, %d tensors, %s bytes\n", o.Steps, o.Tensors, group(o.Bytes))
	}
	if c.Model != nil {
		c.Model.print(tw)
	}
	tw.Flush()
	_, err := io.WriteString(w, b.String())
	return err
}

func printLoop(w io.Writer, s *orchestrator.Saved) {
	if s.Unread {
		fmt.Fprintf(w, "loop\tcannot be read\n")
	} else {
		fmt.Fprintf(w, "loop\tafter cycle %d, %d pushes, %d steps skipped in a row\n", s.Cycle, s.Pushes, s.Skipped)
	}
	for i, b := range sayBuffers(s) {
		fmt.Fprintf(w, "%s\t%s\n", []string{"buffers", ""}[min(i, 1)], b)
	}
	fmt.Fprintf(w, "manifest\t%d files, %d not as written\n", s.Files, len(s.Damage))
}

// sayBuffers says what a checkpoint holds of samples that have not been trained on.
func sayBuffers(s *orchestrator.Saved) (list []string) {
	for _, b := range s.Waiting {
		list = append(list, fmt.Sprintf("%d samples of cycle %d wait, begun under version %v", b.Samples, b.Cycle, b.Version))
	}
	if r := s.Ready; r.Groups > 0 {
		list = append(list, fmt.Sprintf("%d finished groups in no batch, %d samples with %d tokens", r.Groups, r.Samples, r.Tokens))
	}
	if b := s.Begun; b.Groups > 0 {
		list = append(list, fmt.Sprintf("%d groups begun, %d finished samples, %d partial ones with %d tokens", b.Groups, b.Samples-b.Partial, b.Partial, b.Kept))
	}
	if len(list) == 0 {
		return []string{"empty"}
	}
	return list
}

func (m *modelContents) print(w io.Writer) {
	scheme := "none of a model's"
	if m.Scheme != "" {
		scheme = m.Scheme
	}
	fmt.Fprintf(w, "names\t%s\n", scheme)
	fmt.Fprintf(w, "tensors\t%d, %s bytes\n", m.Tensors, group(m.Bytes))
	for _, f := range m.Formats {
		fmt.Fprintf(w, "\t%s: %d tensors, %s numbers, %s bytes\n", f.Format, f.Tensors, group(f.Numbers), group(f.Bytes))
	}
	if m.Scheme != "" {
		m.printParameters(w)
	}
	for _, k := range slices.Sorted(maps.Keys(m.Metadata)) {
		fmt.Fprintf(w, "metadata\t%s: %s\n", k, m.Metadata[k])
	}
	if m.Config != nil {
		printConfig(w, m.Config)
		fmt.Fprintf(w, "tensors\t%s\n", fits(len(m.Wrong)))
	}
	if m.Digest != "" {
		fmt.Fprintf(w, "digest\t%s\n", m.Digest)
	}
	switch {
	case m.State != nil:
		m.State.print(w)
	case m.Digest != "" && m.Config == nil:
		fmt.Fprintf(w, "state\tnot known: there is no config.json beside the tensors\n")
	case m.Digest != "":
		fmt.Fprintf(w, "state\tnot known: the tensors are not those of config.json's model\n")
	}
	m.printList(w)
}

// fits says how the tensors agree with config.json.
func fits(wrong int) string {
	if wrong == 0 {
		return "are those of config.json's model"
	}
	return fmt.Sprintf("are not those of config.json's model: %d complaints", wrong)
}

func (m *modelContents) printParameters(w io.Writer) {
	fmt.Fprintf(w, "parameters\t%s", group(m.Parameters))
	if m.Config != nil {
		fmt.Fprintf(w, ", of which %s work on a token", group(m.Active))
	}
	if m.Draft > 0 {
		fmt.Fprintf(w, "; %s more in draft layers", group(m.Draft))
	}
	fmt.Fprintln(w)
}

func printConfig(w io.Writer, c *dsv4.Config) {
	line := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	line("model", "DeepSeek-V4: %d tokens of vocabulary, %d channels, %d streams, %d positions", c.Vocab, c.Hidden, c.Streams, c.MaxPositions)
	line("attention", "%d heads of %d, queries by way of %d, outputs by way of %d groups of %d, window %d", c.Heads, c.HeadDim, c.QRank, c.OGroups, c.ORank, c.Window)
	line("compression", "1 entry for %d tokens, the best %d of them by %d heads of %d; 1 for %d tokens", c.RateC4, c.IndexTopK, c.IndexHeads, c.IndexDim, c.RateC128)
	line("experts", "%d of width %d, %d chosen, 1 shared", c.Experts, c.ExpertDim, c.TopK)
	for i, k := range layerKinds(c.Layers) {
		name := ""
		if i == 0 {
			name = "layers"
		}
		line(name, "%d %v, router %v: %s", len(k.number), k.layer.Attention, k.layer.Router, spans(k.number))
	}
}

func (m *modelContents) printList(w io.Writer) {
	for i, t := range m.List {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\t%s%v\t%s", t.Name, t.Format, t.Shape, group(t.Bytes))
		if t.SHA256 != "" {
			fmt.Fprintf(w, "\t%s", t.SHA256)
		}
		fmt.Fprintln(w)
	}
}

// group writes a whole number with commas.
func group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
