package servertest

import (
	"encoding/json"
	"testing"
)

// said returns a reply with tokens, a label for each span, and the ends of the spans.
func said(c *check, out ids, labels []string, ends []int) reply {
	var list []any
	for i, id := range out {
		list = append(list, []any{-1 / float64(id+i), id, nil})
	}
	var spans []any
	start := 0
	for i, label := range labels {
		spans = append(spans, m{"version": label, "start": start, "end": ends[i]})
		start = ends[i]
	}
	raw, err := decode(encode(m{
		"text": text(out), "output_ids": out, "meta_info": m{
			"id": "x", "finish_reason": m{"type": "length", "length": len(out)}, "completion_tokens": len(out), "output_token_logprobs": list,
			"weight_version": labels[len(labels)-1], "weight_versions": spans,
		},
	}))
	if err != nil {
		c.Fatal(err)
	}
	return reply{c, raw.(m)}
}

// TestMixedAnswersAreSeen: an answer with another version's tokens under a label, with a hole between its spans, or too short is found.
func TestMixedAnswersAreSeen(t *testing.T) {
	one, two := ids{97, 98, 99, 100}, ids{97, 98, 101, 102}
	for _, tt := range []struct {
		name   string
		out    ids
		labels []string
		ends   []int
		fault  bool
	}{
		{"right", one, []string{"A1"}, []int{4}, false},
		{"the other", two, []string{"B7"}, []int{4}, false},
		{"two versions", two, []string{"A1", "B2"}, []int{2, 4}, false},
		{"mixed", two, []string{"A1"}, []int{4}, true},
		{"unknown label", one, []string{"C1"}, []int{4}, true},
		{"a hole at the end", one, []string{"A1"}, []int{3}, true},
		{"short", one[:3], []string{"A1"}, []int{3}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &quiet{TB: t}
			q.run(func() {
				c := &check{TB: q, Target: &Target{}}
				l := &loading{check: c, known: map[string][]reply{"A": {said(c, one, []string{"A0"}, []int{4})}, "B": {said(c, two, []string{"B0"}, []int{4})}}}
				l.coherent(said(c, tt.out, tt.labels, tt.ends), 0, 4)
			})
			if got := len(q.said) > 0; got != tt.fault {
				t.Errorf("complaints are %q, want some: %v", q.said, tt.fault)
			}
		})
	}
}

// TestSplitStreamsAreSeen: chunks that go back, end early or never are found.
func TestSplitStreamsAreSeen(t *testing.T) {
	frame := func(text string, tokens int, final bool) string {
		var finish any
		if final {
			finish = m{"type": "stop", "matched": 7}
		}
		out := make(ids, tokens)
		return string(encode(m{"text": text, "output_ids": out, "meta_info": m{"finish_reason": finish, "completion_tokens": tokens, "weight_version": "1"}}))
	}
	for _, tt := range []struct {
		name   string
		frames []string
		fault  bool
	}{
		{"right", []string{frame("a", 1, false), frame("ab", 2, false), frame("ab", 3, true)}, false},
		{"goes back", []string{frame("ab", 1, false), frame("a", 2, true)}, true},
		{"a delta", []string{frame("a", 1, false), frame("b", 1, true)}, true},
		{"ends early", []string{frame("a", 1, true), frame("ab", 2, true)}, true},
		{"never ends", []string{frame("a", 1, false), frame("ab", 2, false)}, true},
		{"miscounts", []string{`{"text":"a","output_ids":[5],"meta_info":{"finish_reason":{"type":"stop"},"completion_tokens":2,"weight_version":"1"}}`}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &quiet{TB: t}
			q.run(func() {
				c := &check{TB: q, Target: &Target{}}
				var r recording
				for _, raw := range tt.frames {
					v, err := decode(json.RawMessage(raw))
					if err != nil {
						t.Error(err)
					}
					r = append(r, frameOf(c, v))
				}
				r.cumulative(c)
			})
			if got := len(q.said) > 0; got != tt.fault {
				t.Errorf("complaints are %q, want some: %v", q.said, tt.fault)
			}
		})
	}
}

func frameOf(c *check, v any) frame { return frame{reply{c, v.(m)}} }

// TestMetricsAreReadStrictly: lines that are no Prometheus text are found.
func TestMetricsAreReadStrictly(t *testing.T) {
	for line, want := range map[string]bool{
		`sglang:num_running_reqs{model_name="x",engine_type="unified"} 3`: true,
		`a_total 1e+06`:             true,
		`a{b="c\"d\\e\n"} NaN 1700`: true,
		`a{b=c} 1`:                  false,
		`a{b="c"}`:                  false,
		`1a 3`:                      false,
		`a{b="c"} 3 4 5`:            false,
	} {
		if got := sampleLine.MatchString(line); got != want {
			t.Errorf("%s is a sample: %v, want %v", line, got, want)
		}
	}
}

// TestStoredFrames: what the delta's encoder stores is what a decoder finds, block by block.
func TestStoredFrames(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 17, 1<<17 + 1, 300_000} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		got, raw := []byte{}, zstd(data)[9:]
		for last := false; !last; {
			head := int(raw[0]) | int(raw[1])<<8 | int(raw[2])<<16
			last = head&1 == 1
			got = append(got, raw[3:3+head>>3]...)
			raw = raw[3+head>>3:]
		}
		if string(got) != string(data) || len(raw) != 0 {
			t.Errorf("%d bytes come back as %d, %d left over", n, len(got), len(raw))
		}
	}
}
