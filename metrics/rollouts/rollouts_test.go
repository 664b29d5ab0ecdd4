package rollouts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furlong/rl"
)

// fill gives every field of v a value that is none of its defaults: a field that is added to a sample and not to the columns does not come back.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(r, field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(r, v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text \xff %d <&>", r.Int64()))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(r.Float32()) - 2)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1 + r.Int64N(1<<20))
	case reflect.Uint64:
		v.SetUint(r.Uint64() | 1<<63)
	default:
		v.SetUint(1 + r.Uint64N(2))
	}
}

// full returns a sample with every field filled, consistent where fields speak of each other.
func full(r *rand.Rand, p *rl.Prompt, index int) *rl.Sample {
	s := &rl.Sample{}
	fill(r, reflect.ValueOf(s).Elem())
	s.Prompt, s.Index = p, index
	s.Versions = []rl.Span{{Version: rl.NewVersion(1, 4), Tokens: 1}, {Version: rl.NewVersion(1, 5), Tokens: 2}}
	rows := func(n int) (b []byte) {
		for range n {
			b = append(b, byte(r.Uint32()))
		}
		return b
	}
	s.Experts = &rl.Routes{Layers: 2, Choices: 3, Experts: 200, Rows: rows(4 * 6)}
	s.TrainExperts = &rl.Routes{Layers: 2, Choices: 3, Experts: 300, Rows: rows(2 * 12)}
	s.Entries = &rl.Entries{Rate: 4, Most: 2, Layers: []int{1, 3}, Tokens: 5, Rows: [][]byte{rows(4), rows(7)}}
	return s
}

func fullBatch(seed uint64, groups, n int) (all []*rl.Sample) {
	r := rand.New(rand.NewPCG(seed, 1))
	for g := range groups {
		p := &rl.Prompt{}
		fill(r, reflect.ValueOf(p).Elem())
		p.Group, p.Metadata = int64(g), json.RawMessage(` {"a": "<b>"} `)
		for i := range n {
			all = append(all, full(r, p, i))
		}
	}
	return all
}

func written(t testing.TB, r Rollouts) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d", "7.safetensors")
	if err := Write(path, r); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every field of every sample comes back, to the bit, and what comes back is written as the same bytes.
func TestRoundTrip(t *testing.T) {
	for name, all := range map[string][]*rl.Sample{
		"full": fullBatch(1, 3, 2), "none": {},
		"bare": {{Prompt: &rl.Prompt{Tokens: []int32{1}}, Response: []int32{4}, Versions: []rl.Span{{Version: 1, Tokens: 1}}}, {Prompt: &rl.Prompt{Group: 1, Tokens: []int32{1}}}},
		"some": append(fullBatch(2, 1, 1), &rl.Sample{Prompt: &rl.Prompt{Group: 9, Tokens: []int32{3}}}),
	} {
		t.Run(name, func(t *testing.T) {
			path := written(t, Rollouts{Cycle: 7, Model: "m", Samples: all})
			got, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.Cycle != 7 || got.Model != "m" || len(got.Samples) != len(all) {
				t.Fatalf("cycle %d of %q, %d samples", got.Cycle, got.Model, len(got.Samples))
			}
			for i, s := range got.Samples {
				if !reflect.DeepEqual(s, all[i]) {
					t.Errorf("sample %d is\n%+v, want\n%+v", i, s, all[i])
				}
			}
			a, b := content(t, path), content(t, written(t, *got))
			if !bytes.Equal(a, b) {
				t.Error("what was read is written as other bytes")
			}
		})
	}
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Samples of a prompt share it, also where they came from a checkpoint, which keeps each its own.
func TestPromptsAreShared(t *testing.T) {
	all := fullBatch(1, 2, 2)
	copied := *all[1].Prompt
	all[1].Prompt = &copied
	got, err := Read(written(t, Rollouts{Samples: all}))
	if err != nil {
		t.Fatal(err)
	}
	s := got.Samples
	if s[0].Prompt != s[1].Prompt || s[1].Prompt == s[2].Prompt {
		t.Error("samples 0 and 1 are of one prompt, 2 of another: read otherwise")
	}
}

// What makes no sense is not written, and says where.
func TestWriteRefuses(t *testing.T) {
	for want, spoil := range map[string]func(s *rl.Sample){
		"response.logprobs has 2 values, want 3":        func(s *rl.Sample) { s.LogProbs = s.LogProbs[:2] },
		"response.loss_mask has 1 values, want 3":       func(s *rl.Sample) { s.LossMask = s.LossMask[:1] },
		"leave 1 tokens without a version":              func(s *rl.Sample) { s.Versions[1].Tokens = 1 },
		"with 0 to come":                                func(s *rl.Sample) { s.Versions[0].Tokens = 3 },
		"experts.rows has 23 bytes":                     func(s *rl.Sample) { s.Experts.Rows = s.Experts.Rows[1:] },
		"response.tokens: token 1 is -1":                func(s *rl.Sample) { s.Response[1] = -1 },
		"prompt.metadata is \"{\", want JSON":           func(s *rl.Sample) { s.Prompt.Metadata = json.RawMessage("{") },
		"has two samples of index 0":                    func(s *rl.Sample) { s.Index = 0 },
		"want windows of 1 or more and at most 6 token": func(s *rl.Sample) { s.Entries.Tokens = 7 },
	} {
		all := fullBatch(1, 1, 2)
		spoil(all[1])
		err := Write(filepath.Join(t.TempDir(), "a.safetensors"), Rollouts{Samples: all})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.safetensors") {
			t.Errorf("got %v, want the file and %q", err, want)
		}
	}
}

func TestPath(t *testing.T) {
	for _, tt := range []struct {
		path Path
		want string
		ok   bool
	}{
		{"d/{rollout_id}.safetensors", "d/11.safetensors", true},
		{"d/{cycle}.safetensors", "d/12.safetensors", true},
		{"c{cycle:06}.fls", "c000012.fls", true},
		{"c{rollout_id:06d}.fls", "c000011.fls", true},
		{"a", "a", true},
		{"{rollout}", "", false},
		{"{rollout_id", "", false},
	} {
		if err := tt.path.Check(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.path, err)
		}
		if got := tt.path.Of(12); tt.ok && got != tt.want {
			t.Errorf("%s of cycle 12 is %s, want %s", tt.path, got, tt.want)
		}
	}
}
