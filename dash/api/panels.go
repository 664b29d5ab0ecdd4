package api

import "encoding/json"

// Evals are the evaluations of a run: /api/r/RUN/evals.
type Evals struct {
	Names []string   `json:"names"`
	Evals []EvalHead `json:"evals"` // by name, then cycle
	Bad   []Problem  `json:"bad"`   // files that could not be read, or not wholly
}

// An EvalHead is one evaluation without its problems.
type EvalHead struct {
	Name      string          `json:"name"`
	Cycle     int             `json:"cycle"`
	Attempt   int             `json:"attempt"`
	Version   string          `json:"version"`
	Time      float64         `json:"time"`
	Problems  int             `json:"problems"`
	Samples   int             `json:"samples"`
	Truncated int             `json:"truncated"`
	Settings  map[string]any  `json:"settings"`
	Pass      map[string]Pass `json:"pass"` // by k
}

// A Pass is pass@k as the run wrote it, with its 95 % interval, problems resampled, and that of the answers alone.
type Pass struct {
	Value    Number `json:"value"`
	Lo       Number `json:"lo"`
	Hi       Number `json:"hi"`
	DecodeLo Number `json:"decode_lo"`
	DecodeHi Number `json:"decode_hi"`
}

// An Eval is an evaluation problem by problem: /api/r/RUN/evals/NAME.
type Eval struct {
	Name     string        `json:"name"`
	Cycles   []int         `json:"cycles"`
	Problems []EvalProblem `json:"problems"` // by change from the first cycle to the last, falling most first
	Paired   *Paired       `json:"paired"`   // of the cycles a and b asked for; null without
	Bad      []Problem     `json:"bad"`      // files that could not be read, or not wholly
}

// An EvalProblem is a row of the matrix.
type EvalProblem struct {
	ID     string  `json:"id"`
	Cells  []*Cell `json:"cells"` // one a cycle; null where it was not asked
	Change Number  `json:"change"`
}

// A Cell is one problem in one evaluation.
type Cell struct {
	N         int   `json:"n"`
	C         int   `json:"c"`
	Truncated int   `json:"truncated"`
	Group     int64 `json:"group"` // its samples: /group/CYCLE/GROUP?eval=NAME
}

// Paired is the difference of two evaluations, b minus a, over the problems that both have.
type Paired struct {
	A         int      `json:"a"`
	B         int      `json:"b"`
	K         int      `json:"k"`
	Diff      Number   `json:"diff"`
	Lo        Number   `json:"lo"`
	Hi        Number   `json:"hi"`
	Gained    []string `json:"gained"`
	Lost      []string `json:"lost"`
	Unchanged int      `json:"unchanged"`
	Problems  int      `json:"problems"`
}

// Experts is the load of experts: /api/r/RUN/experts.
type Experts struct {
	Cycle   int           `json:"cycle"`
	Cycles  []int         `json:"cycles"` // that have a file, all of them
	Version string        `json:"version"`
	Sides   []string      `json:"sides"` // names of the first index of Tokens
	Layers  int           `json:"layers"`
	Experts int           `json:"experts"`
	Tokens  [][][]uint32  `json:"tokens"` // [side][layer][expert]
	Agree   []Number      `json:"agreement"`
	Table   []ExpertLayer `json:"table"`
	Dead    []Expert      `json:"dead"`    // no token in the last 20 cycles with a file
	Hot     []Expert      `json:"hot"`     // over 4 fair shares now
	Keys    []string      `json:"keys"`    // series of the run that speak of experts, for /rows
	History *ExpertPast   `json:"history"` // of the layer asked for
	Bad     []Problem     `json:"bad"`     // files that could not be read
}

// An ExpertLayer is one layer now.
type ExpertLayer struct {
	Layer   int    `json:"layer"`
	CV      Number `json:"load_cv"`
	Max     Number `json:"max_load"`
	Dead    int    `json:"dead"`
	Agree   Number `json:"agreement"`
	Entropy Number `json:"entropy"` // null: the entropy of routers is measured over all layers together
}

// An Expert is one expert.
type Expert struct {
	Layer  int    `json:"layer"`
	Expert int    `json:"expert"`
	Load   Number `json:"load"`  // over the fair share, now
	Since  int    `json:"since"` // cycle from which it has had none
}

// An ExpertPast is a layer over the cycles.
type ExpertPast struct {
	Layer  int        `json:"layer"`
	Cycles []int      `json:"cycles"`
	Load   [][]Number `json:"load"` // [cycle][expert] over the fair share
}

// Time is one cycle as lanes: /api/r/RUN/time/37.
type Time struct {
	Cycle  int            `json:"cycle"`
	T0     float64        `json:"t0"`
	T1     float64        `json:"t1"`
	Lanes  []Lane         `json:"lanes"`
	Parts  []Part         `json:"parts"`
	Step   Number         `json:"step_time"`
	Around []CycleParts   `json:"around"` // the 20 cycles around
	Series []string       `json:"series"` // names of the parts, in the order of stacks
	Span   map[string]int `json:"spans"`  // spans by lane
	Bad    []Problem      `json:"bad"`    // lines of the file of spans that are none
}

// A Lane is what one part of the program did.
type Lane struct {
	Name  string `json:"name"`
	Spans []Span `json:"spans"` // by t0
}

// A Span is a piece of a lane.
type Span struct {
	Name     string  `json:"name"`
	T0       float64 `json:"t0"`
	T1       float64 `json:"t1"`
	WaitsFor string  `json:"waits_for"`
	Version  string  `json:"version"`
	Attempt  int     `json:"attempt"`
}

// A Part is one part of the trainer's clock.
type Part struct {
	Key   string `json:"key"`
	Value Number `json:"value"`
}

// CycleParts are the parts of one cycle, in the order of Series.
type CycleParts struct {
	Cycle int      `json:"cycle"`
	Step  Number   `json:"step_time"`
	Parts []Number `json:"parts"`
}

// Config is every setting: /api/r/RUN/config.
type Config struct {
	Settings []Setting      `json:"settings"` // those that differ from recipe and default first, then by name
	Attempts []ConfigChange `json:"attempts"` // what changed at a resume
}

// A Setting is a value and where it came from.
type Setting struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Origin  string          `json:"origin"`
	Secret  bool            `json:"secret"`
	Differs bool            `json:"differs"` // set by a file or a flag
}

// A ConfigChange is what an attempt was told that the one before was not.
type ConfigChange struct {
	Attempt int      `json:"attempt"`
	Changes []Change `json:"changes"`
}

// A Change is a setting with two values; null where there is no such setting.
type Change struct {
	Name string          `json:"name"`
	Was  json.RawMessage `json:"was"`
	Now  json.RawMessage `json:"now"`
}

// Log is a piece of the log: /api/r/RUN/log.
type Log struct {
	Lines  []LogLine `json:"lines"`
	Before *int64    `json:"before"` // offset to ask for older lines with; null at the beginning
	After  int64     `json:"after"`  // offset to ask for newer lines with
	Size   int64     `json:"size"`
}

// A LogLine is a line of the log.
type LogLine struct {
	Offset  int64          `json:"offset"`
	Time    float64        `json:"time"`
	Level   string         `json:"level"` // DEBUG INFO WARN ERROR
	Msg     string         `json:"msg"`
	Attempt int            `json:"attempt"`
	Attrs   map[string]any `json:"attrs"`
	Cut     bool           `json:"cut"` // the line is longer than what is shown
}

// Runs is the list of runs: /api/runs.
type Runs struct {
	Runs []Run    `json:"runs"`
	Next string   `json:"next"` // to ask for more with; empty at the end
	Now  float64  `json:"now"`
	Dirs []string `json:"dirs"` // where was looked, as named
}

// A Run is a row of the list.
type Run struct {
	Run     string   `json:"run"`
	Dir     string   `json:"dir"`
	State   string   `json:"state"`
	Cycle   int      `json:"cycle"`
	Planned int      `json:"planned"`
	Started float64  `json:"started"`
	Age     float64  `json:"age"` // since the last sign of life
	Reward  Number   `json:"reward"`
	Gap     Number   `json:"gap"`
	Pass1   Number   `json:"pass1"`
	Spark   []Number `json:"spark"`  // 40 rewards over the run, from rows that are there
	Alarms  int      `json:"alarms"` // that stand
	Exit    string   `json:"exit"`
	Error   string   `json:"error"` // why it could not be read
}

// Compare is two runs: /api/compare.
type Compare struct {
	A      Head          `json:"a"` // without keys
	B      Head          `json:"b"`
	Differ []DifferGroup `json:"differ"`
	Same   int           `json:"same"` // settings that are equal
	Warn   []string      `json:"warn"` // what makes curves hard to compare
	RowsA  Rows          `json:"rows_a"`
	RowsB  Rows          `json:"rows_b"`
	Evals  []EvalPair    `json:"evals"`
	Keys   []string      `json:"keys"` // that both have
}

// A DifferGroup is the differing settings of one kind.
type DifferGroup struct {
	Group    string   `json:"group"` // algorithm data sampling model machine other
	Settings []Differ `json:"settings"`
}

// A Differ is a setting that is not equal in two runs.
type Differ struct {
	Name    string          `json:"name"`
	A       json.RawMessage `json:"a"`
	B       json.RawMessage `json:"b"`
	OriginA string          `json:"origin_a"`
	OriginB string          `json:"origin_b"`
}

// An EvalPair is the newest evaluations of one set by both runs that are of one cycle, or each's last.
type EvalPair struct {
	Name   string `json:"name"`
	CycleA int    `json:"cycle_a"`
	CycleB int    `json:"cycle_b"`
	Paired Paired `json:"paired"`
}
