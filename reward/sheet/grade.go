package sheet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"furlong/reward"
	"furlong/rl"
)

// Options say how rows are judged.
type Options struct {
	Mode  string // a grader's name
	Rules reward.Rules
	Bare  bool   // answers are answers by themselves, not responses that hold one
	Name  string // of the file, for messages
}

// A Summary counts rows.
type Summary struct {
	Rows, Equal, Unequal int
	Unjudged             int // those with faults included
	Faults               int // rows that could not be read
}

// String returns the counts in words.
func (s Summary) String() string {
	text := fmt.Sprintf("%d rows: %d equal, %d not equal, %d not judged", s.Rows, s.Equal, s.Unequal, s.Unjudged)
	if s.Faults > 0 {
		text += fmt.Sprintf(", %d of them not readable", s.Faults)
	}
	return text
}

// lastResort is how long a row may take: so long that the bounds of the graders decide, and not how busy the machine is.
const lastResort = time.Minute

// A batch is held in memory at once.
const (
	mostRows  = 256
	mostBytes = 64 << 20
)

// Grade judges the rows of in and hands each to emit, in their order. An error of emit ends it.
func Grade(ctx context.Context, in io.Reader, o Options, emit func(*Row) error) (Summary, error) {
	var s Summary
	if _, _, err := reward.Judge(o.Mode, o.Rules, "", reward.Gold{}); err != nil {
		return s, err
	}
	r := &reader{in: bufio.NewReaderSize(in, 1<<16)}
	for {
		batch, err := r.batch()
		if err != nil && !errors.Is(err, io.EOF) {
			return s, fmt.Errorf("%s: line %d: %w", o.Name, r.line, err)
		}
		if err := o.judge(ctx, batch); err != nil {
			return s, err
		}
		for _, row := range batch {
			s.add(row)
			if err := emit(row); err != nil {
				return s, err
			}
		}
		if err != nil {
			return s, nil
		}
	}
}

// batch reads rows until there are enough of them.
func (r *reader) batch() (all []*Row, err error) {
	size := 0
	for len(all) < mostRows && size < mostBytes {
		row, err := r.next()
		if err != nil {
			return all, err
		}
		all = append(all, row)
		size += row.bytes
	}
	return all, nil
}

func (s *Summary) add(row *Row) {
	s.Rows++
	switch {
	case row.Equal == nil:
		s.Unjudged++
	case *row.Equal:
		s.Equal++
	default:
		s.Unequal++
	}
	if row.Fault != nil {
		s.Faults++
	}
}

// judge gives each row its verdict, several at once and each guarded.
func (o Options) judge(ctx context.Context, batch []*Row) error {
	samples := make([]*rl.Sample, 0, len(batch))
	var open []*Row
	for _, row := range batch {
		if row.Fault != nil {
			row.Fault = fmt.Errorf("%s:%d: %w", o.Name, row.Line, row.Fault)
			row.Why = row.Fault.Error()
		} else if row.Why == "" {
			open = append(open, row)
			samples = append(samples, &rl.Sample{Index: len(samples), Prompt: &rl.Prompt{}, Stop: rl.StopToken})
		}
	}
	c := reward.Default()
	c.Deadline = lastResort
	pool := reward.NewPool(&judges{o, open}, c)
	if _, err := pool.Grade(ctx, samples); err != nil {
		return err
	}
	for i, row := range open {
		row.Why = samples[i].Why
		switch samples[i].Verdict {
		case rl.Right:
			row.Equal = new(true)
		case rl.Wrong:
			row.Equal = new(false)
		}
	}
	return nil
}

// judges is the rewarder of a batch: it finds gold and answer by a sample's index.
type judges struct {
	o    Options
	rows []*Row
}

// Reward judges one row.
func (j *judges) Reward(_ context.Context, s *rl.Sample) error {
	row := j.rows[s.Index]
	verdict, why, err := reward.Judge(j.o.Mode, j.o.Rules, j.o.response(row.Answer), row.gold)
	s.Verdict, s.Why = verdict, why
	return err
}

// response returns what is judged: the answer, or for a bare one a response that holds it where the mode looks for it.
func (o Options) response(answer string) string {
	if !o.Bare {
		return answer
	}
	switch o.Mode {
	case "dapo":
		return "Answer: " + answer
	case "deepscaler":
		return `</think>\boxed{` + answer + "}"
	case "exact":
		return answer
	}
	return `\boxed{` + answer + "}"
}
