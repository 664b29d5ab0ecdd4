package api

// Rows are measured rows: /api/r/RUN/rows. All slices have one entry a row that was sent.
type Rows struct {
	X       []Number            `json:"x"` // on the axis asked for
	Cycle   []int               `json:"cycle"`
	Attempt []int               `json:"attempt"`
	Cols    map[string][]Number `json:"cols"`
	Avg     map[string][]Number `json:"avg"` // moving average of each key at the rows sent; null before it begins
	Fit     map[string]Fit      `json:"fit"`
	Gaps    [][2]int            `json:"gaps"`   // first and last of the cycles that are missing
	Lost    [][2]int            `json:"lost"`   // those of Gaps that a crash lost: between two attempts
	Window  int                 `json:"window"` // rows of the average
	Total   int                 `json:"total"`  // rows in the range
	Kept    int                 `json:"kept"`   // rows sent
	Odd     map[string]int      `json:"odd"`    // rows in the range in which a key is not finite
	From    Number              `json:"from"`   // range of x over all rows
	To      Number              `json:"to"`
	At      string              `json:"at"` // id to follow events from
}

// A Fit is a line through the rows of the range, by least squares. There is none under 10 rows.
type Fit struct {
	N         int         `json:"n"`
	Slope     Number      `json:"slope"` // per unit of x
	Lo        Number      `json:"lo"`    // 95 % interval of the slope
	Hi        Number      `json:"hi"`
	Intercept Number      `json:"intercept"`
	R         Number      `json:"r"` // lag-1 correlation of the residuals that widened the interval
	First     Number      `json:"first"`
	Last      Number      `json:"last"` // means of the first and the last third
	Line      [][2]Number `json:"line"` // two points
	Band      [][3]Number `json:"band"` // x, lo, hi of the fitted mean
}
