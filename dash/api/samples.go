package api

// A Sample is one row of the index.
type Sample struct {
	Cycle     int      `json:"cycle"`
	Eval      string   `json:"eval"` // name of the evaluation; empty for the samples of the loop
	Group     uint32   `json:"group"`
	Slot      int      `json:"slot"`
	Attempt   int      `json:"attempt"`
	Set       string   `json:"set"`
	Verdict   string   `json:"verdict"` // right wrong invalid ungraded
	Flags     []string `json:"flags"`   // truncated aborted masked dropped repeated garbled mixed eval
	Reward    Number   `json:"reward"`
	Advantage Number   `json:"advantage"`
	PromptLen int      `json:"prompt_len"`
	Len       int      `json:"len"` // response tokens
	Version   string   `json:"version"`
	Newest    string   `json:"newest"` // the same as Version unless several chose tokens
	Stale     Number   `json:"stale"`  // versions behind the newest of its cycle's samples
	Gap       Number   `json:"gap"`    // mean
	GapMax    Number   `json:"gap_max"`
	Pos       int      `json:"pos"` // response token with the largest gap
	Entropy   Number   `json:"entropy"`
	Kept      bool     `json:"kept"` // its tokens are there
	Text      string   `json:"text"` // first 120 characters of the answer; empty if not asked for or not kept
}

// Samples is a page of a filter: /api/r/RUN/samples.
type Samples struct {
	Rows   []Sample        `json:"rows"`
	Count  int             `json:"count"` // that the filter finds
	Total  int             `json:"total"` // all that count
	Hist   map[string]Hist `json:"hist"`  // reward, len, gap; of what the filter finds
	Next   string          `json:"next"`  // cursor; empty at the end
	Took   Number          `json:"took_ms"`
	Q      string          `json:"q"`    // as it was understood
	Read   int             `json:"read"` // bodies' samples read for text:
	More   bool            `json:"more"` // text: ran out of time; Next goes on
	Sets   []string        `json:"sets"`
	Latest int             `json:"latest"` // newest cycle with samples
	Bad    []Problem       `json:"bad"`    // what of the index could not be read
	Remedy string          `json:"remedy"` // what mends it; empty where nothing is bad
}

// A Hist counts values between edges: Counts[i] those of at least Edges[i] and below Edges[i+1], the last bin with its end.
type Hist struct {
	Edges  []Number `json:"edges"`
	Counts []int    `json:"counts"`
	Odd    int      `json:"odd"` // not measured or not finite
}

// A Group is the samples of one prompt side by side: /api/r/RUN/group/37/1193.
type Group struct {
	Cycle  int      `json:"cycle"`
	Group  uint32   `json:"group"`
	Eval   string   `json:"eval"`
	Set    string   `json:"set"`
	ID     string   `json:"id"` // of the prompt
	Prompt string   `json:"prompt"`
	Label  string   `json:"label"`
	Rows   []Answer `json:"rows"`
	Common int      `json:"common"` // characters (UTF-16 units) that all answers begin with
	Text   string   `json:"text"`   // about the group's rewards
	Prev   string   `json:"prev"`   // neighbours in the cycle, as 37/1192; empty at the ends
	Next   string   `json:"next"`
}

// An Answer is a sample with its whole text.
type Answer struct {
	Sample
	Answer string `json:"answer"`
	Stop   string `json:"stop"`
	Why    string `json:"why"`
	Cut    bool   `json:"cut"` // the text here is only the beginning
}

// Tokens is a run of tokens.
type Tokens struct {
	IDs  []int32        `json:"ids"`
	Text []string       `json:"texts"` // of each; what is not UTF-8 by itself is U+FFFD here
	Hex  map[int]string `json:"hex"`   // and here in bytes, by place in IDs
}

// Inspect is one sample token by token: /api/r/RUN/sample/37/1193/5. Columns have one entry a response token, from From on, or are null.
type Inspect struct {
	Sample    Sample            `json:"sample"`
	Request   int64             `json:"request"`
	ID        string            `json:"id"` // of the prompt
	Label     string            `json:"label"`
	Stop      string            `json:"stop"`
	Why       string            `json:"why"` // the grader's words
	Cached    int               `json:"cached"`
	Retracted int               `json:"retracted"`
	Sampling  map[string]any    `json:"sampling"`
	Prompt    Tokens            `json:"prompt"`
	Response  Tokens            `json:"response"`
	From      int               `json:"from"` // response token of the columns' first entry
	To        int               `json:"to"`   // one behind the last
	Len       int               `json:"len"`  // response tokens in all
	Rollout   []Number          `json:"rollout"`
	Truncated []Number          `json:"truncated"` // rollout logprob after top-k, top-p, min-p
	Train     []Number          `json:"train"`
	Reference []Number          `json:"reference"`
	Entropy   []Number          `json:"entropy"`
	Ratio     []Number          `json:"ratio"`
	Mask      []int             `json:"mask"`     // 1 for a token that trains; null: all do
	Versions  []VersionRun      `json:"versions"` // over the whole response
	Experts   *Routes           `json:"experts"`  // null: see Absent
	Order     []int             `json:"order"`    // response tokens by |trainer - rollout|, largest first, at most 1,000
	Absent    map[string]string `json:"absent"`   // why a column is null
	Command   string            `json:"command"`  // that has both engines score this sample again
	Weights   string            `json:"weights"`  // by which weights it does
	Slots     []int             `json:"slots"`    // of its group
	Served    string            `json:"served"`   // version as its cycle ended, before its own push
}

// Routes are the experts behind the logprobs of response tokens: those that the token before chose, as far as they are kept.
type Routes struct {
	Layers  int     `json:"layers"`
	Choices int     `json:"choices"` // experts of a token in each layer
	Experts int     `json:"experts"` // of a layer
	Tokens  []Route `json:"tokens"`  // in order; a token of which nothing is kept has none
}

// A Route is the experts behind one token's logprobs, layer by layer, in the router's order.
type Route struct {
	Pos     int   `json:"pos"`     // response token
	Rollout []int `json:"rollout"` // when it was drawn; null: not known
	Train   []int `json:"train"`   // in the trainer's pass; null: not known, or the same
	Same    bool  `json:"same"`    // the trainer's are the rollout engine's, in the same order
}

// A VersionRun is a run of response tokens that one version chose.
type VersionRun struct {
	Version string `json:"version"`
	From    int    `json:"from"`
	To      int    `json:"to"`
}

// A Token is a place among tokens: /api/r/RUN/next.
type Token struct {
	Cycle int    `json:"cycle"`
	Eval  string `json:"eval"`
	Group uint32 `json:"group"`
	Slot  int    `json:"slot"`
	Pos   int    `json:"pos"`
	Gap   Number `json:"gap"`
	Rank  int    `json:"rank"` // from 1
	Of    int    `json:"of"`
}
