package api

// A Head is what a run is now: /api/r/RUN/head, and the events "head", which leave Keys out.
type Head struct {
	Run       string     `json:"run"`   // as in addresses
	Dir       string     `json:"dir"`   // directory, as it was named
	State     string     `json:"state"` // running finished stopped failed crashed silent none
	Cycle     int        `json:"cycle"` // the one that runs, or the last
	Planned   int        `json:"planned"`
	Phase     string     `json:"phase"`
	Since     float64    `json:"phase_since"`
	Waiting   string     `json:"waiting_for"`
	Started   float64    `json:"started"` // of the newest attempt
	Beat      float64    `json:"beat"`    // last sign of life
	Attempt   int        `json:"attempt"`
	Version   string     `json:"version"` // that serves, or served last: v186, 2·v37 after a resume; empty before the first
	Exit      string     `json:"exit"`    // why it ended
	First     int        `json:"first"`   // first and last cycle with a row; both 0 without rows
	Last      int        `json:"last"`
	Rows      int        `json:"rows"`    // cycles that have a row
	Usual     Number     `json:"usual"`   // seconds of the usual cycle (median of the last 20)
	Left      Number     `json:"left"`    // seconds to the end of the plan, at that pace
	Average   int        `json:"average"` // rows of the moving average, from the plan
	Verdict   []Verdict  `json:"verdict"` // alive, learning, honest, alarms
	Alarms    []Alarm    `json:"alarms"`  // those that stand first, then the cleared
	Keys      []Key      `json:"keys,omitempty"`
	Marks     []Mark     `json:"marks"`
	Attempts  []Attempt  `json:"attempts"`
	Evals     []string   `json:"evals"` // names of the held-out sets
	Crash     *Crash     `json:"crash"` // of a run that ended without a word or with an error
	Problems  []Problem  `json:"problems"`
	At        string     `json:"at"`        // id to follow events from
	Now       float64    `json:"now"`       // the server's clock
	Baselines []Baseline `json:"baselines"` // of --baseline
}

// A Verdict is the answer to one of the four first questions.
type Verdict struct {
	ID    string `json:"id"`   // alive learning honest alarms
	Big   string `json:"big"`  // a few words
	Text  string `json:"text"` // sentences
	Tone  string `json:"tone"` // ok warn bad none
	Links []Link `json:"links"`
}

// A Link leads to a page of the run. Href begins behind /r/RUN.
type Link struct {
	Text string `json:"text"`
	Href string `json:"href"`
}

// An Alarm is something that is or was wrong, in words.
type Alarm struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // error warning
	Since    int    `json:"since"`    // cycle
	Until    *int   `json:"until"`    // cycle in which it was cleared; null while it stands
	Text     string `json:"text"`
	Link     string `json:"link"` // behind /r/RUN
	Attempt  int    `json:"attempt"`
}

// A Key is a series of the run.
type Key struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"` // empty for a series that this program does not know
	Meaning string `json:"meaning"`
	Last    Number `json:"last"`
	N       int    `json:"n"`     // rows that have it
	Every   int    `json:"every"` // usual distance in cycles between rows that have it; lines of series with more than 1 are joined across
	Part    bool   `json:"part"`  // one of the parts that sum to perf/step_time
	Wall    bool   `json:"wall"`  // depends on the clock
	Odd     int    `json:"odd"`   // rows in which it is not finite
}

// A Mark is something that happened in a cycle and stands on every chart.
type Mark struct {
	Cycle int    `json:"cycle"`
	Kind  string `json:"kind"` // slow retried refused unattested resume skipped
	Text  string `json:"text"`
}

// An Attempt is one start of the run.
type Attempt struct {
	Attempt int    `json:"attempt"`
	From    int    `json:"from"` // first and last cycle of its rows
	To      int    `json:"to"`
	Again   int    `json:"again"`   // cycles that it ran which an earlier attempt had run
	Unequal []int  `json:"unequal"` // those of them with unequal values
	Keys    []Name `json:"keys"`    // what differed, with the cycle
	Text    string `json:"text"`    // empty for a first start
}

// A Name is a series in a cycle.
type Name struct {
	Cycle int    `json:"cycle"`
	Key   string `json:"key"`
}

// A Crash is what is known of an end without a word.
type Crash struct {
	Log        []LogLine `json:"log"`        // the last 20
	Checkpoint string    `json:"checkpoint"` // to go on from; empty if there is none
	Command    string    `json:"command"`    // that goes on
}

// A Problem is a file, or a line of one, that could not be read.
type Problem struct {
	File   string `json:"file"` // within the run
	Offset int64  `json:"offset"`
	Error  string `json:"error"`
	N      int    `json:"n"` // problems of this file; the first is named
}

// A Baseline is a line of reference for pass@k.
type Baseline struct {
	Name  string `json:"name"`
	Value Number `json:"value"`
}

// An Error is what an answer other than 200 says.
type Error struct {
	Error  string `json:"error"`
	File   string `json:"file,omitempty"`
	Offset *int64 `json:"offset,omitempty"` // byte in the file, or column in the filter
	Hint   string `json:"hint,omitempty"`   // what to do, or the nearest name
}
