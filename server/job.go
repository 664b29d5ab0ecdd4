package server

import (
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"furlong/rl"
)

// A spec says what one sample is wanted for. Handlers make it, in no dialect's words, and have checked it.
type spec struct {
	rid      string
	prompt   []int32
	begun    int // so many of its last ids are a response that was begun
	index    int // among the samples of an equal prompt
	sampling rl.Sampling
	report   rl.Report
	space    string

	stops   []string // texts that end it
	regexes []*regexp.Regexp
	special bool // the text has the spellings of special tokens
	keep    bool // the text keeps what ended it
	grammar func() (rl.Constraint, error)
	quiet   bool // it is no customer's: metrics and logs pass over it
}

// A job is a sample in flight.
type job struct {
	spec
	s       *Server
	id      int64
	arrived time.Time
	message atomic.Pointer[string] // said by who aborted it
	stopped atomic.Bool            // by request, perhaps before the engine knew it
	fault   atomic.Int32           // the HTTP status of an abort that is a failure
	bell    chan struct{}          // of its group; nil when nobody follows

	reader *reader // nil when neither stops nor a follower need the text as it grows

	mu    sync.Mutex
	seen  progress // what a follower may read
	first time.Time
	last  time.Time
	ended *answer // when over
}

// progress is a sample's content so far. Slices only grow: who took them may go on reading.
type progress struct {
	tokens   []int32
	logProbs []float32
	told     []rl.Told
	spans    []rl.Span
	sample   *rl.Sample // what does not change: the prompt's part
	text     string
}

// An answer is a snapshot of a job. Nobody changes it.
type answer struct {
	rid    string
	prompt []int32
	tokens []int32
	text   string // without what ended it, unless that is kept

	logProbs       []float32
	told           []rl.Told
	promptLogProbs []float32 // of the last tokens of the prompt
	promptTold     []rl.Told
	experts        *rl.Routes

	spans       []labelled
	version     string // of the last token; of what is served when there is none
	cached      int
	retractions int
	budget      int // longest response

	finish *finish       // nil before the end
	took   time.Duration // since the request came
	first  time.Duration // until the first token
}

// A labelled span says which version chose tokens start to end-1.
type labelled struct {
	version    string
	start, end int
}

// What ended a sample.
type ending uint8

const (
	byToken ending = iota // a stop id
	byText                // a stop text
	byLength
	byAbort
)

// A finish says why a sample ended.
type finish struct {
	why     ending
	token   int32  // byToken
	text    string // byText: what was matched; byAbort: the message
	status  int    // byAbort: the HTTP status of a failure, 0 for none
	grammar bool   // byToken: nothing could follow
}

// watch takes the newest token of a sample. The engine calls it, so it waits for nothing.
func (j *job) watch(s *rl.Sample) (end bool) {
	s = j.rest(s)
	now := j.s.now()
	j.s.meter.outputs.Add(1)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.beat(now)
	token := s.Response[len(s.Response)-1]
	if slices.Contains(j.sampling.StopIDs, token) {
		return false // it ends here, and its text may have to go
	}
	if j.reader != nil {
		end = j.reader.next(token)
	}
	if j.bell != nil {
		j.publish(s)
		ring(j.bell)
	}
	return end || j.stopped.Load()
}

// beat notes when a token came.
func (j *job) beat(now time.Time) {
	switch {
	case j.first.IsZero():
		j.first = now
		j.s.series.firstToken(j, now.Sub(j.arrived))
	default:
		j.s.series.nextToken(j, now.Sub(j.last))
	}
	j.last = now
}

// publish copies what is new in a sample.
func (j *job) publish(s *rl.Sample) {
	p := &j.seen
	n := len(p.tokens)
	p.tokens = append(p.tokens, s.Response[n:]...)
	p.logProbs = append(p.logProbs, s.LogProbs[n:]...)
	if s.Told != nil {
		p.told = append(p.told, s.Told[n:]...)
	}
	p.spans = append(p.spans[:0:0], s.Versions...)
	if j.reader != nil {
		p.text = j.reader.safe(!j.keep)
	}
	if p.sample == nil {
		p.sample = &rl.Sample{
			CachedTokens: s.CachedTokens, PromptLogProbs: s.PromptLogProbs, PromptTold: s.PromptTold,
		}
	}
	p.sample.Retractions = s.Retractions
}

// ring wakes whoever follows, unless it was rung already.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// progress returns how many tokens there are to see, and whether the job is over.
func (j *job) progress() (tokens int, over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.seen.tokens), j.ended != nil
}

// snapshot returns what there is so far.
func (j *job) snapshot() *answer {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended != nil {
		return j.ended
	}
	p := j.seen
	a := &answer{
		rid: j.rid, prompt: j.prompt, budget: j.sampling.MaxTokens,
		tokens: p.tokens, logProbs: p.logProbs, told: p.told, text: p.text, took: j.s.now().Sub(j.arrived), first: j.first.Sub(j.arrived),
	}
	if p.sample != nil {
		a.promptLogProbs, a.promptTold, a.cached, a.retractions = p.sample.PromptLogProbs, p.sample.PromptTold, p.sample.CachedTokens, p.sample.Retractions
	}
	j.label(a, p.spans)
	return a
}

// label gives an answer's spans their names.
func (j *job) label(a *answer, spans []rl.Span) {
	at := 0
	for _, sp := range spans {
		name := j.s.labels.of(sp.Version)
		if n := len(a.spans); n > 0 && a.spans[n-1].version == name {
			a.spans[n-1].end += sp.Tokens
		} else {
			a.spans = append(a.spans, labelled{name, at, at + sp.Tokens})
		}
		at += sp.Tokens
	}
	if n := len(a.spans); n > 0 {
		a.version = a.spans[n-1].version
		return
	}
	a.version = j.s.labels.of(j.s.engine.Version())
}
