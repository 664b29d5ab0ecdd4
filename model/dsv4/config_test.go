package dsv4

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

func testConfig(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/config-" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustRead(t testing.TB, data []byte) Config {
	t.Helper()
	c, err := ReadConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// absent as a value of an edit removes the key.
type absent struct{}

// edit returns data with the keys of changes set. A dot enters an object, made if need be.
func edit(t testing.TB, data []byte, changes map[string]any) []byte {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	for name, v := range changes {
		set(object, name, v)
	}
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func set(object map[string]any, name string, v any) {
	first, rest, nested := strings.Cut(name, ".")
	switch {
	case nested:
		inner, ok := object[first].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[first] = inner
		}
		set(inner, rest, v)
	case v == absent{}:
		delete(object, name)
	default:
		object[name] = v
	}
}

func schedule(attention string, hashes int) []Layer {
	kinds := map[rune]AttentionKind{'W': W, '4': C4, '8': C128}
	layers := []Layer{}
	for i, k := range attention {
		l := Layer{kinds[k], Learned}
		if i < hashes {
			l.Router = Hash
		}
		layers = append(layers, l)
	}
	return layers
}

var flash = Config{
	Vocab: 129280, Hidden: 4096, Layers: schedule("WW"+strings.Repeat("48", 20)+"4", 3), Heads: 64, HeadDim: 512, RopeDim: 64, QRank: 1024,
	OGroups: 8, ORank: 1024, Window: 128, RateC4: 4, RateC128: 128, IndexHeads: 64, IndexDim: 128, IndexTopK: 512,
	Experts: 256, TopK: 6, ExpertDim: 2048, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
	Streams: 4, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000, Yarn: Yarn{16, 65536, 32, 1},
	MaxPositions: 1048576, InitRange: 0.02, BOS: 0, EOS: 1,
}

func pro() Config {
	c := flash
	c.Hidden, c.Heads, c.QRank, c.OGroups, c.ExpertDim, c.Experts, c.RoutedFactor, c.IndexTopK = 7168, 128, 1536, 16, 3072, 384, 2.5, 1024
	c.Layers = schedule("8"+strings.Repeat("84", 30), 3)
	return c
}

func proFile(t testing.TB) []byte {
	ratios := []int{128}
	for range 30 {
		ratios = append(ratios, 128, 4)
	}
	return edit(t, testConfig(t, "flash"), map[string]any{
		"hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
		"q_lora_rank": 1536, "o_groups": 16, "moe_intermediate_size": 3072, "n_routed_experts": 384, "routed_scaling_factor": 2.5,
		"index_topk": 1024, "compress_ratios": append(ratios, 0),
	})
}

var oracle = Config{
	Vocab: 97, Hidden: 64, Layers: schedule("W4848W", 3), Heads: 4, HeadDim: 32, RopeDim: 8, QRank: 32, OGroups: 2, ORank: 16, Window: 8,
	RateC4: 4, RateC128: 16, IndexHeads: 8, IndexDim: 16, IndexTopK: 4, Experts: 8, TopK: 2, ExpertDim: 32, RoutedFactor: 1.5, Limit: 2, LimitShared: 2,
	Streams: 4, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 1000, Yarn: Yarn{4, 64, 4, 0.5},
	MaxPositions: 256, InitRange: 0.02, BOS: 0, EOS: 1,
}

var tiny = Config{
	Vocab: 512, Hidden: 128, Layers: schedule("W4848W", 2), Heads: 4, HeadDim: 64, RopeDim: 16, QRank: 64, OGroups: 2, ORank: 32, Window: 64,
	RateC4: 4, RateC128: 32, IndexHeads: 4, IndexDim: 32, IndexTopK: 16, Experts: 16, TopK: 2, ExpertDim: 32, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
	Streams: 4, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
	MaxPositions: 4096, InitRange: 0.02, BOS: 0, EOS: 1,
}

var mid = Config{
	Vocab: 8192, Hidden: 768, Layers: schedule("WW"+strings.Repeat("48", 5), 3), Heads: 12, HeadDim: 128, RopeDim: 32, QRank: 384, OGroups: 4, ORank: 192, Window: 128,
	RateC4: 4, RateC128: 128, IndexHeads: 8, IndexDim: 64, IndexTopK: 64, Experts: 32, TopK: 4, ExpertDim: 192, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
	Streams: 4, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
	MaxPositions: 8192, InitRange: 0.02, BOS: 0, EOS: 1,
}

func TestReadConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want Config
	}{
		{"oracle", testConfig(t, "oracle"), oracle},
		{"tiny", testConfig(t, "tiny"), tiny},
		{"mid", testConfig(t, "mid"), mid},
		{"flash as released", testConfig(t, "flash"), flash},
		{"flash as the released program names it", testConfig(t, "program"), flash},
		{"pro", proFile(t), pro()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustRead(t, tt.data); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// Each change to a file must change the configuration in this one way.
func TestReadConfigAccepts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		file    string
		changes map[string]any
		change  func(c *Config)
	}{
		{"nothing", "oracle", nil, func(*Config) {}},
		{
			"copies that agree", "oracle",
			map[string]any{
				"dim": 64, "n_layers": 6, "num_hash_layers": 3, "compress_ratios": []int{0, 4, 128, 4, 128, 0},
				"compress_rate_csa": 4, "rope_head_dim": 8, "intermediate_size": 32, "num_local_experts": 8, "rope_scaling.rope_type": "yarn", "rope_scaling.factor": 4,
			},
			func(*Config) {},
		},
		{"whole numbers written as fractions", "oracle", map[string]any{
			"hidden_size": json.RawMessage("64.0"), "num_key_value_heads": json.RawMessage("1.0"),
			"vocab_size": json.RawMessage("9.7e1"),
		}, func(*Config) {}},
		{
			"no betas", "oracle",
			map[string]any{"rope_parameters.compress.beta_fast": absent{}, "rope_parameters.compress.beta_slow": absent{}},
			func(c *Config) { c.Yarn.BetaFast, c.Yarn.BetaSlow = 32, 1 },
		},
		{
			"other betas", "flash",
			map[string]any{"rope_scaling.beta_fast": 16, "rope_scaling.beta_slow": 2},
			func(c *Config) { c.Yarn.BetaFast, c.Yarn.BetaSlow = 16, 2 },
		},
		{"shared limit", "oracle", map[string]any{"swiglu_limit_shared": 0}, func(c *Config) { c.LimitShared = 0 }},
		{"shared limit follows", "oracle", map[string]any{"swiglu_limit": 3}, func(c *Config) { c.Limit, c.LimitShared = 3, 3 }},
		{"rate beside a ratio", "flash", map[string]any{"compress_rate_hca": 64}, func(c *Config) { c.RateC128 = 64 }},
		{"no rope scaling", "flash", map[string]any{"rope_scaling": nil}, func(c *Config) { c.Yarn = Yarn{} }},
		{"default rope scaling", "flash", map[string]any{"rope_scaling": map[string]any{"type": "default"}}, func(c *Config) { c.Yarn = Yarn{} }},
		{"flat rope parameters", "tiny", map[string]any{"rope_parameters": map[string]any{
			"rope_type": "yarn", "factor": 8,
			"original_max_position_embeddings": 64, "rope_theta": 10000,
		}}, func(c *Config) { c.Yarn = Yarn{8, 64, 32, 1} }},
		{"no original length", "program", map[string]any{"original_seq_len": 0}, func(c *Config) { c.Yarn = Yarn{} }},
		{"theta nested only", "oracle", map[string]any{"rope_theta": absent{}, "compress_rope_theta": absent{}}, func(*Config) {}},
		{"factor only", "oracle", map[string]any{"qk_rope_head_dim": absent{}}, func(*Config) {}},
		{"a factor with a fraction", "tiny", map[string]any{"partial_rotary_factor": 0.2501}, func(c *Config) { c.RopeDim = 16 }},
		{"fewer layers than ratios", "flash", map[string]any{"num_hidden_layers": 4}, func(c *Config) { c.Layers = schedule("WW48", 3) }},
		{
			"fewer layers than hashes", "flash",
			map[string]any{"num_hidden_layers": 2},
			func(c *Config) { c.Layers = schedule("WW", 2); c.RateC4, c.RateC128 = 0, 0 },
		},
		{"no hashes", "flash", map[string]any{"num_hash_layers": 0}, func(c *Config) { c.Layers = schedule("WW"+strings.Repeat("48", 20)+"4", 0) }},
		{"no indexer where no layer has one", "tiny", map[string]any{
			"num_hidden_layers": 2, "layer_types": []string{"sliding_attention", "heavily_compressed_attention"},
			"mlp_layer_types": []string{"moe", "hash_moe"}, "index_n_heads": absent{}, "index_head_dim": absent{}, "index_topk": absent{},
			"compress_rates.compressed_sparse_attention": absent{},
		}, func(c *Config) {
			c.Layers = []Layer{{W, Learned}, {C128, Hash}}
			c.IndexHeads, c.IndexDim, c.IndexTopK, c.RateC4 = 0, 0, 0, 0
		}},
		{"no compression at all", "tiny", map[string]any{
			"num_hidden_layers": 1, "layer_types": []string{"sliding_attention"},
			"mlp_layer_types": []string{"moe"}, "compress_rates": absent{}, "compress_rope_theta": absent{},
		}, func(c *Config) {
			c.Layers = []Layer{{W, Learned}}
			c.RateC4, c.RateC128, c.CompressRopeTheta = 0, 0, 0
		}},
		{"defaults of what computes nothing", "tiny", map[string]any{"initializer_range": absent{}, "bos_token_id": absent{}, "eos_token_id": absent{}}, func(*Config) {}},
		{"other ids and range", "tiny", map[string]any{"initializer_range": 0.006, "bos_token_id": 5, "eos_token_id": 6}, func(c *Config) { c.InitRange, c.BOS, c.EOS = 0.006, 5, 6 }},
		{"a draft model beside", "flash", map[string]any{
			"dspark_block_size": 5, "dspark_target_layer_ids": []int{40, 41, 42},
			"compress_ratios": append([]int{0, 0, 4, 128}, make([]int, 42)...), "num_hidden_layers": 4,
		}, func(c *Config) { c.Layers = schedule("WW48", 3) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := mustRead(t, testConfig(t, tt.file))
			tt.change(&want)
			got := mustRead(t, edit(t, testConfig(t, tt.file), tt.changes))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if again := mustRead(t, got.JSON()); !reflect.DeepEqual(again, got) {
				t.Errorf("read again: %+v\nwant %+v", again, got)
			}
		})
	}
}

func TestReadConfigReportsEverything(t *testing.T) {
	data := edit(t, testConfig(t, "tiny"), map[string]any{"hidden_size": "128", "hc_mult": absent{}, "norm_topk_prob": false, "n_headz": 4})
	_, err := ReadConfig(data)
	want := `hc_mult is missing, want an integer
hidden_size is "128", want an integer
norm_topk_prob is false, want true
"n_headz" is no key we know, the nearest is n_heads`
	got := strings.Split(fmt.Sprint(err), "\n")
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains(fmt.Sprint(err), line) {
			t.Errorf("missing %q", line)
		}
	}
	if len(got) != 4 {
		t.Errorf("got %d lines, want 4:\n%v", len(got), err)
	}
}

func TestConfigJSON(t *testing.T) {
	shared := flash
	shared.LimitShared = -1
	odd := oracle
	odd.HeadDim, odd.RopeDim = 98, 2
	odd.NormEps, odd.RoutedFactor = 1.0/3, math.Nextafter(2.5, 3)
	for _, tt := range []struct {
		name string
		c    Config
	}{
		{"oracle", oracle}, {"tiny", tiny}, {"mid", mid}, {"flash", flash}, {"pro", pro()}, {"shared limit", shared}, {"numbers that are hard to write", odd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := tt.c.JSON()
			if got := mustRead(t, data); !reflect.DeepEqual(got, tt.c) {
				t.Errorf("got  %+v\nwant %+v\n%s", got, tt.c, data)
			}
		})
	}
}

// What we write for the reference model must say what the reference's own file says, key by key.
func TestConfigJSONSaysWhatTheReferenceSays(t *testing.T) {
	var ours, theirs map[string]any
	for data, to := range map[string]*map[string]any{string(oracle.JSON()): &ours, string(testConfig(t, "oracle")): &theirs} {
		if err := json.Unmarshal([]byte(data), to); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range idleKeys {
		if k.name != "architectures" && k.name != "pad_token_id" { // these two are written all the same
			delete(ours, k.name)
			delete(theirs, k.name)
		}
	}
	delete(ours, "topk_method") // of the released spelling; some readers want it
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("got  %v\nwant %v", ours, theirs)
	}
	if s := string(oracle.JSON()); !strings.Contains(s, `"rope_theta": 10000.0`) || !strings.Contains(s, `"hc_eps": 1e-06`) {
		t.Errorf("numbers that need not be whole are not written as such:\n%s", s)
	}
}

// A factor must name its channels to us and to readers that merely drop fractions; plain quotients do not always.
func TestRotaryFactor(t *testing.T) {
	short := 0
	for head := 2; head <= 600; head++ {
		for dim := 2; dim <= head; dim += 2 {
			f := rotaryFactor(dim, head)
			if got := int(float64(head) * f); got != dim || f > 1 {
				t.Fatalf("%d * %v is %d, want %d", head, f, got, dim)
			}
			if got := rotated(head, f); got != dim {
				t.Fatalf("rotated(%d, %v) = %d, want %d", head, f, got, dim)
			}
			quotient := float64(dim) / float64(head)
			if int(float64(head)*quotient) < dim {
				short++
			}
			if got := rotated(head, quotient); got != dim {
				t.Fatalf("rotated(%d, %v) = %d, want %d", head, quotient, got, dim)
			}
		}
	}
	if short == 0 {
		t.Error("no quotient falls short, so nothing was tested")
	}
}

func TestConfigJSONPanicsIfInvalid(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("JSON of the zero Config returned, want a panic")
		}
	}()
	Config{}.JSON()
}

func FuzzReadConfig(f *testing.F) {
	for _, name := range []string{"oracle", "tiny", "mid", "flash", "program"} {
		f.Add(testConfig(f, name))
	}
	f.Add(proFile(f))
	f.Add([]byte(`{"num_hidden_layers": 1e18, "num_hash_layers": -1, "compress_ratios": [[]], "rope_scaling": {"type": null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadConfig(data)
		if err != nil {
			return
		}
		if got := mustRead(t, c.JSON()); !reflect.DeepEqual(got, c) {
			t.Errorf("read %+v, wrote, and read %+v", c, got)
		}
	})
}

func ExampleReadConfig() {
	_, err := ReadConfig([]byte(`{"num_hidden_layers": 1, "n_layers": 2}`))
	fmt.Println(strings.Split(err.Error(), "\n")[0])
	// Output: num_hidden_layers is 1 but n_layers is 2
}
