package api

// A Cycle is one cycle looked at closely: /api/r/RUN/cycle/37.
type Cycle struct {
	Cycle    int               `json:"cycle"`
	Attempt  int               `json:"attempt"`
	Step     int               `json:"step"`
	Time     float64           `json:"time"`
	Versions []string          `json:"versions"` // that chose tokens of its samples, oldest first
	Served   string            `json:"served"`   // version as it ended, before its own push
	Sentence string            `json:"sentence"`
	Key      string            `json:"key"`   // what the sentence and the shares are about
	Moved    []Moved           `json:"moved"` // by |z|, largest first
	Samples  []Share           `json:"samples"`
	Note     string            `json:"note"`   // about the shares: what they are of, or why there are none
	Events   []Event           `json:"events"` // by time
	Values   map[string]string `json:"values"` // each series, and the row's own fields, as the file has them
	Prev     *int              `json:"prev"`   // nearest cycles with a row
	Next     *int              `json:"next"`
	Rows     []RowAt           `json:"rows"` // where its rows stand, superseded ones too
}

// A RowAt says where a row stands in metrics.jsonl.
type RowAt struct {
	Kind    string `json:"kind"`
	Attempt int    `json:"attempt"`
	Offset  int64  `json:"offset"`
	Bytes   int    `json:"bytes"`
	Live    bool   `json:"live"` // counts
}

// Moved is a series that is not what it was in the 20 rows before.
type Moved struct {
	Key    string `json:"key"`
	Unit   string `json:"unit"`
	Value  Number `json:"value"`
	Usual  Number `json:"usual"`  // median of the 20 rows before
	Z      Number `json:"z"`      // robust
	Factor Number `json:"factor"` // value over usual; null where that says nothing
}

// A Share is a sample and its part of what moved.
type Share struct {
	Sample
	Share Number `json:"share"` // of the rise, 1 is all of it
}

// An Event is something that happened in a cycle.
type Event struct {
	Kind string  `json:"kind"` // update wait eval log alarm save
	Time float64 `json:"time"`
	Took Number  `json:"took"` // seconds
	Text string  `json:"text"`
	Href string  `json:"href"` // behind /r/RUN; may be empty
}
