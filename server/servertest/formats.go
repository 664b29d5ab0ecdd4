package servertest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

func formats() []Test {
	const noGroups = "no NCCL in a server without it: 400 that says which transports there are; the same buckets go through /update_weights_from_stream (T107)"
	return []Test{
		{102, "distributed", "buckets by broadcast in two calls are as an update from disk", noGroups, weights, distributed},
		{103, "torch_prefix", "dtypes with and without torch. are the same to update_weights_from_distributed", "", weights, torchPrefix},
		{104, "groups", "destroying an unknown group: 400; a group can be made again under its name", noGroups, weights, groups},
		{105, "scale_bytes", "E8M0 scales sent as uint8 are the same bits", "", weights, scaleBytes},
		{107, "split_pairs", "weights and their scales may come in different buckets of a session", "", weights, splitPairs},
		{110, "by_name", "get_weights_by_name returns the numbers of a tensor under its names", "", weights, byName},
		{122, "two_schemes", "one checkpoint under Hugging Face names and under DeepSeek's own is one", "", weights, twoSchemes},
	}
}

func group(name string) m {
	return m{"master_address": "127.0.0.1", "master_port": 29511, "rank_offset": 1, "world_size": 2, "group_name": name, "backend": "nccl"}
}

// distributed holds a server without broadcasts to saying so; one that has them must be asked by a trainer, not by HTTP alone.
func distributed(c *check) {
	if c.Upstream {
		c.Skip("needs a trainer in the group: two processes that broadcast")
	}
	s := c.post("/init_weights_update_group", group("suite")).failed()
	if !strings.Contains(s, "nccl") && !strings.Contains(s, "NCCL") {
		c.Errorf("message is %q, want the backend named", s)
	}
	c.post("/update_weights_from_distributed", bucket("bfloat16")).failed()
	c.post("/update_weights_from_tensor", m{"serialized_named_tensors": []string{"gASVAAAAAAAAAA=="}}).failed()
	c.post("/update_weights_from_ipc", m{"zmq_handles": m{}}).failed()
}

func bucket(dtype string) m {
	return m{"names": []string{"head.weight"}, "dtypes": []string{dtype}, "shapes": [][]int{{2, 2}}, "group_name": "nobody", "flush_cache": false, "weight_version": "9"}
}

func torchPrefix(c *check) {
	plain := c.post("/update_weights_from_distributed", bucket("bfloat16")).failed()
	prefixed := c.post("/update_weights_from_distributed", bucket("torch.bfloat16")).failed()
	c.equal("message about the prefixed dtype", prefixed, plain)
	if s := c.post("/update_weights_from_distributed", bucket("torch.bogus")).failed(); !c.Upstream && !strings.Contains(s, "bogus") {
		c.Errorf("message about an unknown dtype is %q, want it named", s)
	}
}

func groups(c *check) {
	c.post("/destroy_weights_update_group", m{"group_name": "nobody"}).failed()
	if c.Upstream {
		c.Skip("needs a trainer in the group: init waits for it")
	}
	c.post("/init_weights_update_group", group("again")).failed()
	c.post("/destroy_weights_update_group", m{"group_name": "again"}).failed()
}

func scaleBytes(c *check) {
	c.streamed()
	p := c.pair(c, "fp8")
	w := readWeights(c, p.B)
	if len(w.only(func(name string) bool { return w[name].dtype == "F8_E8M0" })) == 0 {
		c.Skip("needs a checkpoint with E8M0 scales")
	}
	s := c.start("--model-path", p.A)
	s.push(w, "e8m0").succeeded()
	want := s.impression()
	s.update(p.A, "between")
	s.push(w.retyped("F8_E8M0", "U8"), "u8").succeeded()
	s.labelled("u8")
	s.like("scales as bytes", s.impression(), want)
}

func splitPairs(c *check) {
	c.streamed()
	for _, format := range []string{"fp8", "fp8+fp4"} {
		p := c.pair(c, format)
		w := readWeights(c, p.B)
		s := c.start("--model-path", p.A)
		s.begin().succeeded()
		s.push(w.only(func(name string) bool { return !isScale(name) }), "2").succeeded()
		s.push(w.only(isScale), "2").succeeded()
		s.end().succeeded()
		s.labelled("2")
		got := s.impression()
		s.update(p.B, "3")
		s.like(format+": in two buckets", got, s.impression())
	}
}

func byName(c *check) {
	p := c.pair(c, "bf16")
	s := c.start("--model-path", p.A)
	w := readWeights(c, p.A)
	asked := 0
	for _, name := range w.names() {
		if t := w[name]; t.dtype != "BF16" || len(t.shape) != 2 || !strings.Contains(name, "layers.0.") {
			continue
		}
		asked++
		s.rows(name, name, w[name])
		if wire := strings.NewReplacer(".attn.", ".self_attn.").Replace(name); wire != name && strings.HasPrefix(name, "layers.") {
			s.rows("model."+wire, name, w[name])
		}
	}
	if asked == 0 {
		c.Fatal("no tensor to ask for")
	}
	s.post("/get_weights_by_name", m{"name": "no.such.weight"}).must(400).nested()
}

// rows compares the first rows of a tensor.
func (c *check) rows(name, of string, t tensor) {
	c.Helper()
	n := min(3, t.shape[0])
	l := c.post("/get_weights_by_name", m{"name": name, "truncate_size": n}).must(200).list()
	if len(l) != n {
		c.Fatalf("%s: got %d rows, want %d", name, len(l), n)
	}
	for i, row := range l {
		numbers, _ := row.([]any)
		c.equal(fmt.Sprintf("%s: numbers in row %d", name, i), len(numbers), t.shape[1])
		for j, v := range numbers {
			want := math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.data[2*(i*t.shape[1]+j):])) << 16)
			x, _ := v.(json.Number)
			if got, err := x.Float64(); err != nil || float32(got) != want {
				c.Fatalf("%s[%d, %d] is %v, want %v as %s has", name, i, j, v, want, of)
			}
		}
	}
}

func twoSchemes(c *check) {
	if c.Wire == "" {
		c.Skip("needs a checkpoint under Hugging Face names")
	}
	p := c.pair(c, "fp8")
	s := c.start("--model-path", p.A)
	want := s.impression()
	s.update(p.B, "b")
	s.update(c.Wire, "wire")
	s.like("under Hugging Face names", s.impression(), want)
	s.update(p.B, "b2")
	s.update(p.A, "ref")
	s.like("under DeepSeek's names", s.impression(), want)
	c.like("a server started on it", c.start("--model-path", c.Wire).impression(), want)
}
