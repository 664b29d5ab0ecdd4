package rl

import "encoding/json"

// A Stop says why a response ended.
type Stop uint8

// The reasons, as SGLang names them: stop, length, abort.
const (
	Unfinished Stop = iota
	StopToken       // a stop id was sampled; it is the response's last token
	StopLength      // the token limit was reached: the response is truncated
	StopAbort       // somebody asked for it to end
	StopText        // who watched it said that it ends with its last token
)

var stopNames = [...]string{"unfinished", "stop", "length", "abort", "stop"}

// String returns the wire name.
func (s Stop) String() string { return stopNames[s] }

// A Verdict is what a grader found. Invalid is not wrong: the grader could not judge, and the sample must not train.
type Verdict uint8

// The verdicts.
const (
	Ungraded Verdict = iota
	Right
	Wrong
	Invalid
)

var verdictNames = [...]string{"ungraded", "right", "wrong", "invalid"}

// String returns the verdict's name.
func (v Verdict) String() string { return verdictNames[v] }

// A Note says what a verdict rests on besides a comparison.
type Note uint8

// The notes.
const (
	NoNote   Note = iota
	TooLarge      // wrong, since comparing would have taken too long
	Breaks        // wrong, since the published grader breaks there
	TimedOut      // invalid, since the grader ran out of time
	Broke         // invalid, since the grader broke
)

// A Prompt is one problem, tokenised.
type Prompt struct {
	ID     string  // stable over runs: names the problem, not its place
	Group  int64   // counts prompts handed out in this run, over epochs
	Text   string  // as the tokenizer saw it
	Tokens []int32 // begins with BOS where the template has one
	Label  string  // the gold answer
	Set    string  // data set name

	// Metadata is what the data set says besides, a JSON object; nil for nothing, also after a checkpoint.
	Metadata json.RawMessage `json:",omitempty"`
}

// Sampling says how to draw tokens. The zero value is not usable; start from DefaultSampling.
type Sampling struct {
	Temperature float64 // 0 takes the likeliest token; its logprobs are then those of temperature 1
	TopP        float64 // 1 keeps all
	TopK        int     // 0 keeps all
	MinP        float64 // 0 keeps all; else tokens at least MinP times as likely as the likeliest
	MaxTokens   int     // longest response
	StopIDs     []int32 // a sampled one ends the response and belongs to it
	Seed        uint64  // the draw of token i depends on (Seed, i) alone

	// What follows changes logits before temperature, in this order. Zero leaves them.
	RepetitionPenalty float64 `json:",omitempty"` // logits of tokens seen in prompt or response: positive ones are divided by it, others multiplied; 0 and 1 are none
	FrequencyPenalty  float64 `json:",omitempty"` // taken off for each time that the response has the token
	PresencePenalty   float64 `json:",omitempty"` // taken off once when the response has the token
	Bias              []Bias  `json:",omitempty"` // ascending ids
	MinTokens         int     `json:",omitempty"` // shorter responses don't end: until then stop ids are not drawn
}

// A Bias is added to a token's logit.
type Bias struct {
	Token int32
	Add   float32
}

// DefaultSampling samples the plain distribution.
func DefaultSampling() Sampling { return Sampling{Temperature: 1, TopP: 1, MaxTokens: 1024} }

// InvTemperature returns what logits are multiplied with before the softmax: 1/T, and 1 for T = 0.
func (s Sampling) InvTemperature() float32 {
	if s.Temperature <= 0 {
		return 1
	}
	return float32(1 / s.Temperature)
}

// A Request asks for one sample.
type Request struct {
	ID       int64 // unique among requests in flight
	Prompt   *Prompt
	Index    int // place among the samples of the prompt
	Sampling Sampling

	Report     Report
	Space      string     // requests of different spaces never share attention state
	Constraint Constraint // nil for none

	// Watch is called after each token of the response, one call at a time, and says whether the response ends with it. It runs where tokens are
	// made, so it must be quick, and it may read s during the call alone. nil watches nothing.
	Watch func(s *Sample) (end bool)

	// Begun is what an earlier request for this sample has drawn before it was aborted or failed; nil for nothing. The engine goes on after its last token, so that
	// a response that is drawn in pieces under one version equals the one drawn at once, and returns the whole. It reads Begun and does not change it.
	// Sampling speaks of the whole response: one that has reached MaxTokens comes back at once, with StopLength, and one whose last token is a stop id with
	// StopToken. Constraint is told the tokens first, and must be at its beginning; Watch is called after those that are drawn now.
	Begun *Sample
}

// A Report says what a sample tells besides its tokens and their logprobs. The zero value asks for nothing.
type Report struct {
	Tail    int     // so many last tokens of the prompt are scored, at temperature 1; at most all but the first
	Top     int     // likeliest tokens at each position that has a logprob
	Among   []int32 // tokens whose logprobs are told at each position that has one
	Experts bool    // which experts each token went to
	Entries bool    // which compressed entries each token read, where an indexer chooses
}

// A Constraint says which tokens may follow. An engine asks before it draws a token, and tells it which it was; one goroutine at a time does.
type Constraint interface {
	// Allow sets allowed[t] for each token t of the vocabulary.
	Allow(allowed []bool)
	// Accept takes the token that was drawn.
	Accept(token int32)
	// Done reports whether nothing but an end may follow.
	Done() bool
}

// An Alternative is a token with its logprob, nats.
type Alternative struct {
	Token   int32
	LogProb float32
}

// Told is what a Report asked for at one position.
type Told struct {
	Top   []Alternative // likeliest first, equal ones by id
	Among []float32     // of the tokens of Report.Among, in its order
}

// A Sample is one response to a prompt.
type Sample struct {
	Request  int64
	Prompt   *Prompt
	Index    int
	Sampling Sampling

	Response      []int32
	LogProbs      []float32 // of each token under the distribution after temperature, before truncation
	TruncLogProbs []float32 // under the distribution that was sampled, after top-k, top-p and min-p; nil when those are off
	Versions      []Span    // the policies that chose the tokens, in order; counts sum to len(Response)
	Stop          Stop
	Text          string // the response decoded, for graders and people
	CachedTokens  int    // prompt tokens whose state came from a prefix hit
	Retractions   int    `json:",omitempty"` // times it lost its attention state and was computed again

	PromptLogProbs []float32 `json:",omitempty"` // of the last Report.Tail tokens of the prompt, at temperature 1, nothing added to logits
	PromptTold     []Told    `json:",omitempty"` // of the same tokens; nil when nothing was asked
	Told           []Told    `json:",omitempty"` // of the response's tokens; nil when nothing was asked
	Experts        *Routes   `json:",omitempty"` // of all tokens but the last; nil when nothing was asked
	Entries        *Entries  `json:",omitempty"` // of the same tokens; nil when nothing was asked

	Reward  float64
	Verdict Verdict
	Why     string // what the grader saw, in words
	Note    Note   `json:",omitempty"`

	TrainLogProbs []float32 // of the same tokens, by the trainer before the cycle's first step
	RefLogProbs   []float32 // of the same tokens, by the frozen reference; nil without one
	Entropy       []float32 // nats, by the trainer
	Advantage     float64   // mean over its tokens
	LossMask      []bool    `json:",omitempty"` // which tokens train, nil for all. The others are context: they count in no loss, and in no mean or sum over tokens that train
	TrainExperts  *Routes   `json:",omitempty"` // of all tokens but the last: the trainer's own choice in the pass that gave TrainLogProbs; nil when nobody asked
}

// Tokens returns prompt and response, end to end.
func (s *Sample) Tokens() []int32 {
	return append(append(make([]int32, 0, len(s.Prompt.Tokens)+len(s.Response)), s.Prompt.Tokens...), s.Response...)
}

// Oldest returns the oldest version among the response's tokens, 0 for an empty one.
func (s *Sample) Oldest() Version {
	var v Version
	for i, sp := range s.Versions {
		if i == 0 || sp.Version.Count() < v.Count() {
			v = sp.Version
		}
	}
	return v
}
