package oracle

import (
	"fmt"
	"math"
)

// A Check is one kind of comparison: the worst case seen, and what is allowed.
type Check struct {
	Name  string  `json:"name"`
	Worst float64 `json:"worst"`
	Limit float64 `json:"limit"`
	Where string  `json:"where,omitempty"` // of the worst case
	Count int     `json:"count"`           // comparisons made
	OK    bool    `json:"ok"`
}

// A Report is the outcome of all checks.
type Report struct {
	OK     bool     `json:"ok"`
	Checks []*Check `json:"checks"`
}

func newReport() *Report { return &Report{OK: true} }

// see compares one figure with a check's limit, which must be the same each time.
func (r *Report) see(name string, v, limit float64, where string) {
	c := r.check(name, limit)
	c.Count++
	if math.IsNaN(v) || v > math.MaxFloat64 {
		v = math.MaxFloat64 // JSON has no infinity
	}
	if v > c.Worst || c.Count == 1 {
		c.Worst, c.Where = v, where
	}
	if v > limit {
		c.OK, r.OK = false, false
	}
}

// mustEqual counts discrete values that differ; none may.
func (r *Report) mustEqual(name string, wrong int, where string) {
	r.see(name, float64(wrong), 0, where)
}

// note adds a figure that is told and not judged.
func (r *Report) note(name string, v float64, where string) {
	c := r.check(name, v)
	c.Worst, c.Where, c.Count = v, where, c.Count+1
}

func (r *Report) check(name string, limit float64) *Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	c := &Check{Name: name, Limit: limit, OK: true}
	r.Checks = append(r.Checks, c)
	return c
}

// require makes a check that was never made a failure: an oracle that compares nothing proves nothing.
func (r *Report) require(names ...string) {
	for _, n := range names {
		if c := r.check(n, 0); c.Count == 0 {
			c.OK, r.OK, c.Where = false, false, "no vectors found"
		}
	}
}

// String returns a check as one line of a table.
func (c *Check) String() string {
	mark := "ok"
	if !c.OK {
		mark = "MISSED"
	}
	return fmt.Sprintf("%-6s %-34s worst %-10.3g limit %-8.3g of %-6d %s", mark, c.Name, c.Worst, c.Limit, c.Count, c.Where)
}
