package parity

// ReportFormat is what [Report.Format] says of reports in this form.
const ReportFormat = "furlong-parity-1"

// A Report is everything that a comparison found, as report.json has it.
type Report struct {
	Format   string   `json:"format"`
	Made     string   `json:"made,omitempty"` // when, RFC 3339
	Build    string   `json:"build,omitempty"`
	Settings Settings `json:"settings"`

	A       About   `json:"a"`
	B       About   `json:"b"`
	Checks  []Check `json:"checks"` // of both sides, before anything was scored
	Verdict Verdict `json:"verdict"`

	Comparisons []Comparison  `json:"comparisons"` // first that of both sides' scores
	Divergence  *Divergence   `json:"divergence,omitempty"`
	Sequences   []SequenceRow `json:"sequences"`
	Notes       []string      `json:"notes,omitempty"` // what could not be compared, and why
}

// Settings say what was compared.
type Settings struct {
	Command      []string `json:"command,omitempty"`
	Source       string   `json:"source"` // of the tokens, in words: where the prompts are from, and who drew the responses
	Prompts      int      `json:"prompts"`
	MaxNewTokens int      `json:"max_new_tokens,omitempty"` // 0 where responses were given
	Seed         uint64   `json:"seed"`
	Tolerance    float64  `json:"tolerance,omitempty"` // nats; 0 where none was set
	Worst        int      `json:"worst"`
}

// An About is what a side says of itself. Fields are zero where it does not say.
type About struct {
	Side    string `json:"side"` // as it was named: rollout:format=fp8
	Kind    string `json:"kind"` // rollout, trainer, server, pytorch, record
	Name    string `json:"name"` // for people, in a few words
	Model   string `json:"model,omitempty"`
	Version string `json:"version,omitempty"` // of the weights

	State     string `json:"state,omitempty"`     // digest of the weights as they came, hexadecimal
	Effective string `json:"effective,omitempty"` // of all that passes read

	Weights    string `json:"weights,omitempty"`    // format of weights: f32, bf16, bf16 fp8, ...
	KV         string `json:"kv,omitempty"`         // format of attention state: auto, fp8_e4m3
	Arithmetic string `json:"arithmetic,omitempty"` // of activations and sums: float32
	Backend    string `json:"backend,omitempty"`

	Context   int            `json:"context,omitempty"` // longest prompt with response, tokens
	Vocab     int            `json:"vocab,omitempty"`   // rows of the model's head
	Tokenizer Tokenizer      `json:"tokenizer"`
	Config    map[string]any `json:"config,omitempty"` // what decides the model's shape, by name: numbers, texts, lists
	Facts     []Fact         `json:"facts,omitempty"`  // what else there is to say
}

// A Tokenizer is what a side says of its vocabulary.
type Tokenizer struct {
	Size   int            `json:"size,omitempty"`
	Digest string         `json:"digest,omitempty"` // of the table of tokens
	IDs    map[string]int `json:"ids,omitempty"`    // special ids: bos, eos, pad; -1 for none
	Probes []Probe        `json:"probes,omitempty"` // what it makes of [ProbeTexts]
}

// A Probe is a text and its ids.
type Probe struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"ids"`
}

// A Fact is a name with its value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Check is something that both sides must agree on, and what they said.
type Check struct {
	Name    string `json:"name"`
	A       string `json:"a"` // "" where it does not say
	B       string `json:"b"`
	OK      bool   `json:"ok"`
	Ignored bool   `json:"ignored,omitempty"` // it failed, and goes on because that was asked for
	Says    string `json:"says,omitempty"`
}

// A Verdict is what all figures amount to.
type Verdict struct {
	Kind   Kind     `json:"kind"`
	OK     bool     `json:"ok"`              // exit code 0
	Says   string   `json:"says"`            // the verdict in one sentence
	More   []string `json:"more,omitempty"`  // further sentences, the weightiest first
	Limit  Figure   `json:"limit"`           // nats: what the largest gap was held against
	Reason string   `json:"limit_reason"`    // where the limit is from
	Where  string   `json:"where,omitempty"` // "layer 3, attn_turned"; "" where nothing diverges or nobody knows
}

// A Kind names a verdict.
type Kind string

// The verdicts.
const (
	SameBits  Kind = "same bits"
	Rounding  Kind = "rounding"  // equal up to float32 rounding
	Within    Kind = "within"    // below the limit that was asked for
	Explained Kind = "explained" // formats differ, and the gap is what they make
	Differs   Kind = "differs"
)

// A Comparison is two lists of logprobs of the same tokens, compared.
type Comparison struct {
	Name string `json:"name"` // scored, generated, decode
	Says string `json:"says"` // what is compared with what, in words
	Gap  Gap    `json:"gap"`

	K1          Figure `json:"k1"` // estimates of KL(A||B)
	K3          Figure `json:"k3"`
	Sampled     bool   `json:"sampled"` // A drew the tokens, so that k1 and k3 estimate something
	Ratio       Ratio  `json:"ratio"`
	Correlation Figure `json:"correlation"`

	ByPosition    []Bucket `json:"by_position"`
	ByProbability []Bucket `json:"by_probability"`
	ByClass       []Bucket `json:"by_class"`
	ByPrompt      []Bucket `json:"by_prompt"` // in the order of the sequences

	Top1    *Share       `json:"top1,omitempty"`
	Experts []Agreement  `json:"experts,omitempty"` // for each layer that routes
	Index   []Agreement  `json:"index,omitempty"`   // for each layer with an indexer
	Worst   []WorstToken `json:"worst"`             // the largest |gap| first; non-finite ones before all others
}

// A Gap sums the gaps of some tokens up. The package comment defines each figure.
type Gap struct {
	Tokens    int    `json:"tokens"`
	NonFinite int    `json:"nonfinite"` // tokens of which a side's logprob is no number; all else is of the others
	Mean      Figure `json:"mean"`      // of |gap|
	Signed    Figure `json:"signed"`
	P50       Figure `json:"p50"`
	P95       Figure `json:"p95"`
	P99       Figure `json:"p99"`
	P999      Figure `json:"p999"`
	Max       Figure `json:"max"`
	Exact     Figure `json:"exact"`    // share of tokens
	Over05    Figure `json:"over_0.5"` // share with |gap| above 0.5 nats
	Over2     Figure `json:"over_2"`
}

// A Bucket is the gap of the tokens that have something in common.
type Bucket struct {
	Name string `json:"name"` // "64-127", "0.1-0.5", "digit", a prompt's id
	Gap  Gap    `json:"gap"`
}

// A Ratio is of probabilities: those under B over those under A.
type Ratio struct {
	Mean Figure `json:"mean"`
	Min  Figure `json:"min"`
	Max  Figure `json:"max"`
}

// A Share counts how many of some things agree.
type Share struct {
	Of    int `json:"of"`
	Equal int `json:"equal"`
}

// An Agreement is how far the choices of a layer are the same.
type Agreement struct {
	Layer   int    `json:"layer"`
	Tokens  int    `json:"tokens"`
	Equal   int    `json:"equal"`   // tokens whose sets of choices are equal
	Overlap Figure `json:"overlap"` // mean share of A's choices that are B's too
}

// A WorstToken is a token with a large gap, and where it stands.
type WorstToken struct {
	Sequence int    `json:"sequence"` // index into Report.Sequences
	Position int    `json:"position"` // in the response, from 0
	Token    int32  `json:"token"`
	Text     string `json:"text"`
	Class    string `json:"class"`
	Before   string `json:"before"` // text that goes before, the last of it
	After    string `json:"after"`
	A        Figure `json:"a"` // logprobs
	B        Figure `json:"b"`
	Gap      Figure `json:"gap"` // a - b
}

// A SequenceRow is a sequence with what both sides say of its response.
type SequenceRow struct {
	ID        string   `json:"id"`
	Prompt    string   `json:"prompt"` // text
	PromptIDs []int32  `json:"prompt_ids"`
	Response  []int32  `json:"response_ids"`
	Texts     []string `json:"texts"` // of each response token
	A         Figures  `json:"a"`     // logprobs of each
	B         Figures  `json:"b"`
	Generated Figures  `json:"generated,omitempty"` // those with which A drew it
}

// A Divergence is where the two sides begin to compute different things.
type Divergence struct {
	Method   string `json:"method"` // "forced" by a judge, or "growth" from op to op where there is none, which is weaker
	Judge    string `json:"judge,omitempty"`
	Side     string `json:"side,omitempty"` // A or B: whose taps the judge was held against; "" without a judge
	Sequence int    `json:"sequence"`       // index into Report.Sequences
	Found    bool   `json:"found"`
	Judged   string `json:"judged,omitempty"` // sides that a judge was held against: A, B or AB
	Looked   int    `json:"looked"`           // sequences that were looked at
	Beyond   int    `json:"beyond"`           // sequences whose gap is beyond the limit
	Layer    int    `json:"layer"`            // -1 outside the blocks
	Op       string `json:"op"`
	At       int    `json:"at"` // first position at fault, in the sequence (prompt included); -1 where that is not known

	Local     Figure   `json:"local"`     // largest difference that the op makes of equal inputs, relative to the size of what it computes
	Inherited Figure   `json:"inherited"` // what its inputs bring along
	Limit     Figure   `json:"limit"`
	Reason    string   `json:"limit_reason"`
	Says      string   `json:"says"`           // in words
	More      []string `json:"more,omitempty"` // further sentences: the known mistake that fits first

	Ops      []OpRow      `json:"ops"`                // every boundary, in order of computation
	Suspects []SuspectRow `json:"suspects,omitempty"` // known mistakes, the likeliest first
}

// An OpRow is one boundary of the model.
type OpRow struct {
	Layer     int    `json:"layer"`
	Op        string `json:"op"`
	Local     Figure `json:"local"`
	Inherited Figure `json:"inherited"`
	Limit     Figure `json:"limit"`
	Over      bool   `json:"over"`
	At        int    `json:"at"`             // first position over the limit, or of the largest difference
	Says      string `json:"says,omitempty"` // of choices: how many differ, and by what margin
}

// A SuspectRow is a known mistake, tried on the judge.
type SuspectRow struct {
	Name  string `json:"name"`
	Says  string `json:"says"`
	Left  Figure `json:"left"` // local difference with the mistake in the judge
	Match bool   `json:"match"`
}

// A SelfReport is what came of holding one side against itself.
type SelfReport struct {
	Format     string      `json:"format"`
	Made       string      `json:"made,omitempty"`
	Build      string      `json:"build,omitempty"`
	Settings   Settings    `json:"settings"`
	Side       About       `json:"side"`
	Conditions []Condition `json:"conditions"`
	Verdict    Verdict     `json:"verdict"`
	Notes      []string    `json:"notes,omitempty"`
}

// A Condition is a way to compute the same tokens again, and what differed from the first time.
type Condition struct {
	Name   string      `json:"name"`
	Says   string      `json:"says"` // what was done otherwise
	Gap    Gap         `json:"gap"`
	First  *WorstToken `json:"first,omitempty"` // the first token that differs, by sequence, then position
	Worst  *WorstToken `json:"worst,omitempty"`
	Failed string      `json:"failed,omitempty"` // why it could not be tried
}
