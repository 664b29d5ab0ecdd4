package quant

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furlong/dtype"
)

// A Stated is what a config.json says of how weights are stored. Each tensor's own format decides; this is held against it.
type Stated struct {
	Given   bool       // there is a quantization_config
	Scale   dtype.Type // that scales must be as if stored in: E8M0 where scale_fmt says so, else Invalid
	Experts dtype.Type // E2M1, E4M3, or Invalid where expert_dtype does not say
	Plain   []string   // modules that are not quantised
}

// quantizationConfig are the keys that are known. Others are refused: each could change what the numbers mean.
type quantizationConfig struct {
	Method     string   `json:"quant_method"`
	Fmt        string   `json:"fmt,omitempty"`
	Activation string   `json:"activation_scheme,omitempty"`
	Block      []int    `json:"weight_block_size,omitempty"`
	Scale      *string  `json:"scale_fmt,omitempty"`
	Plain      []string `json:"modules_to_not_convert,omitempty"`
	Dequantize *bool    `json:"dequantize,omitempty"` // what a reader is to do after reading
}

var quantizationKeys = []string{"quant_method", "fmt", "activation_scheme", "weight_block_size", "scale_fmt", "modules_to_not_convert", "dequantize"}

// ReadConfig reads quantization_config and expert_dtype of a config.json. Methods, formats and blocks that are not ours are refused
// by name, all at once.
func ReadConfig(data []byte) (Stated, error) {
	var object map[string]json.RawMessage // not a struct, which would take names in any case
	if err := json.Unmarshal(data, &object); err != nil {
		return Stated{}, fmt.Errorf("config.json: %w", err)
	}
	file, err := topOf(object)
	if err != nil {
		return Stated{}, fmt.Errorf("config.json: %w", err)
	}
	s := Stated{Given: !isNull(object["quantization_config"])}
	var errs []error
	switch {
	case s.Given:
		errs = s.read(object["quantization_config"])
	case file.Dtype == "fp8":
		s.Given = true
		errs = append(errs, s.readScale(file.Scale))
	}
	if file.Experts != nil {
		errs = append(errs, s.readExperts(*file.Experts))
	}
	if err := errors.Join(errs...); err != nil {
		return Stated{}, err
	}
	return s, nil
}

func isNull(data []byte) bool { return len(data) == 0 || string(data) == "null" }

// A top is what stands outside of quantization_config.
type top struct {
	Dtype          string // "fp8" in the files of the program released beside the checkpoints, which have no quantization_config
	Experts, Scale *string
}

func topOf(object map[string]json.RawMessage) (t top, err error) {
	var dtype *string
	for key, to := range map[string]**string{"dtype": &dtype, "expert_dtype": &t.Experts, "scale_fmt": &t.Scale} {
		if data := object[key]; !isNull(data) {
			if err := json.Unmarshal(data, to); err != nil {
				return t, fmt.Errorf("%s: is %s, want text", key, data)
			}
		}
	}
	if dtype != nil {
		t.Dtype = *dtype
	}
	return t, nil
}

func (s *Stated) readExperts(name string) error {
	known := map[string]dtype.Type{"fp4": dtype.E2M1, "fp8": dtype.E4M3, "bf16": dtype.BF16}
	t, ok := known[name]
	if !ok {
		return fmt.Errorf("expert_dtype is %q, want fp4, fp8 or bf16", name)
	}
	s.Experts = t
	if !s.Given && t != dtype.BF16 {
		return fmt.Errorf("expert_dtype is %q, but there is no quantization_config", name)
	}
	return nil
}

func (s *Stated) readScale(name *string) error {
	if name == nil {
		return nil
	}
	if *name != "ue8m0" {
		return fmt.Errorf("scale_fmt is %q, want ue8m0, or none for float32", *name)
	}
	s.Scale = dtype.E8M0
	return nil
}

func (s *Stated) read(data []byte) (errs []error) {
	var q quantizationConfig
	var keys map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(data, &keys), json.Unmarshal(data, &q)); err != nil {
		return []error{fmt.Errorf("quantization_config: %s", strings.TrimPrefix(err.Error(), "json: "))}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(quantizationKeys, key) {
			errs = append(errs, fmt.Errorf("quantization_config: %q is no key we know", key))
		}
	}
	s.Plain = q.Plain
	return append(append(errs, q.complaints()...), s.readScale(q.Scale))
}

// complaints returns what is asked for that is not ours.
func (q quantizationConfig) complaints() (errs []error) {
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("quantization_config: "+format, args...))
	}
	if q.Method != "fp8" {
		bad("quant_method is %q, want fp8", q.Method)
	}
	switch {
	case strings.Contains(strings.ToLower(q.Fmt), "fnuz"):
		bad("fmt is %q, want e4m3: the same byte means half as much there", q.Fmt)
	case !slices.Contains([]string{"", "e4m3", "e4m3fn", "float8_e4m3fn"}, q.Fmt):
		bad("fmt is %q, want e4m3", q.Fmt)
	}
	if q.Activation != "" && q.Activation != "dynamic" {
		bad("activation_scheme is %q, want dynamic", q.Activation)
	}
	if q.Block != nil && !slices.Equal(q.Block, []int{WeightE4M3.Rows, WeightE4M3.Cols}) {
		bad("weight_block_size is %v, want [%d %d]", q.Block, WeightE4M3.Rows, WeightE4M3.Cols)
	}
	for _, m := range q.Plain {
		if m == "" || strings.ContainsAny(m, `*?[]()|^$+\:`) {
			bad("modules_to_not_convert has %q, want the name of a module", m)
		}
	}
	return errs
}

// Excludes reports whether a tensor's module is among those that are not to be quantised: an entry is a whole name or a run of the
// parts between its dots.
func (s Stated) Excludes(tensor string) bool {
	name := "." + strings.TrimSuffix(tensor, ".weight") + "."
	return slices.ContainsFunc(s.Plain, func(m string) bool { return strings.Contains(name, "."+strings.TrimSuffix(m, ".weight")+".") })
}

// Check says in what a stored weight contradicts s: one that files quantise, in format f (the zero Format for plain numbers). It is a
// routed expert's if expert is set; optional says that files store it either way.
func (s Stated) Check(tensor string, f Format, expert, optional bool) error {
	quantised := f != (Format{})
	switch {
	case quantised && !s.Given:
		return fmt.Errorf("is %v, but config.json has no quantization_config", f.Code)
	case quantised && s.Excludes(tensor):
		return fmt.Errorf("is %v, but modules_to_not_convert names it", f.Code)
	case expert && s.Experts != dtype.Invalid && f.Code != s.Experts && (quantised || s.Experts != dtype.BF16):
		return fmt.Errorf("is %v, but expert_dtype is %s", f, word(Format{Code: s.Experts}))
	case !quantised && s.Given && !optional && !s.Excludes(tensor) && !(expert && s.Experts == dtype.BF16):
		return fmt.Errorf("is not quantised, but config.json has a quantization_config and modules_to_not_convert does not name it")
	}
	return nil
}

// WriteConfig returns a config.json that says how weights are stored, and is otherwise what it was. plain are the modules of matrices
// that are not quantised, as the file names them. For bf16 it says nothing, as files that are not quantised do.
//
// The activation scheme is always dynamic: readers ask for it, and whether activations are rounded is the business of who computes.
func (r Recipe) WriteConfig(data []byte, plain []string) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	says := string(object["dtype"]) == `"fp8"`
	for _, key := range []string{"quantization_config", "expert_dtype"} {
		_, ok := object[key]
		says = says || ok
		delete(object, key)
	}
	switch {
	case !r.plain():
		if err := r.state(object, plain); err != nil {
			return nil, err
		}
	case !says:
		return data, nil
	case string(object["dtype"]) == `"fp8"`: // of the released program
		object["dtype"] = json.RawMessage(`"bf16"`)
		delete(object, "scale_fmt")
	}
	out, err := json.MarshalIndent(object, "", "  ")
	return append(out, '\n'), err
}

func (r Recipe) state(object map[string]json.RawMessage, plain []string) (err error) {
	q := quantizationConfig{Method: "fp8", Fmt: "e4m3", Activation: "dynamic", Block: []int{WeightE4M3.Rows, WeightE4M3.Cols}, Plain: plain}
	if r.Dense.Scale != dtype.F32 && r.Experts.Scale != dtype.F32 {
		ue8m0 := "ue8m0"
		q.Scale = &ue8m0
	}
	if object["quantization_config"], err = json.Marshal(q); err != nil {
		return err
	}
	object["expert_dtype"], err = json.Marshal(word(r.Experts))
	return err
}
