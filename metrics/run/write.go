package run

import (
	"errors"
	"fmt"

	"furlong/metrics"
	"furlong/metrics/samples"
)

// WriteRow appends r to metrics.jsonl and its series to TensorBoard. Attempt and time are filled in. The rows of a kind come in the order of their cycles, one a
// cycle; where a run goes back, it does so as a new attempt.
func (d *Dir) WriteRow(r metrics.Row) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Attempt, r.Time = d.holder.Attempt, metrics.Unix(d.o.Now())
	if last, some := d.last[r.Kind]; some && r.Cycle <= last {
		return fmt.Errorf("%s row of cycle %d after that of cycle %d in attempt %d", r.Kind, r.Cycle, last, r.Attempt)
	}
	b, err := r.Append(nil)
	if err != nil {
		return err
	}
	if err := d.rows.Append(b); err != nil {
		return err
	}
	d.last[r.Kind] = r.Cycle
	if d.o.Seen != nil {
		d.o.Seen(r)
	}
	return d.board.Add(r.Cycle, r.Time, r.Values)
}

// WriteSamples writes the samples of a cycle or an evaluation, indexes them, and deletes the bodies that need not be kept.
func (d *Dir) WriteSamples(b samples.Batch) error {
	d.sampling.Lock()
	defer d.sampling.Unlock()
	if d.samples == nil {
		return errors.New("samples need the text of tokens, which this run was not given")
	}
	if err := d.samples.Add(b); err != nil {
		return err
	}
	_, err := d.samples.Retain(d.o.Keep)
	return err
}
