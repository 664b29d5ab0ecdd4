package verdict

import (
	"fmt"
	"slices"
	"time"

	"furlong/metrics/run"
	"furlong/metrics/trend"
	"furlong/rl"
)

// pace is over how many cycles the usual time of one is taken.
const pace = 20

// Usual returns how many seconds a cycle usually takes: the median of the last 20. It is 0 where none is known.
func Usual(r Run) float64 {
	var y []float64
	for _, v := range r.Points["perf/step_time"].Y {
		if trend.Finite(v) {
			y = append(y, v)
		}
	}
	if len(y) == 0 {
		return 0
	}
	y = slices.Sorted(slices.Values(y[max(0, len(y)-pace):]))
	return (y[len(y)/2] + y[(len(y)-1)/2]) / 2
}

// Left returns how many seconds the rest of the plan takes at the usual pace, and false where that is not known.
func Left(r Run) (float64, bool) {
	usual, rest := Usual(r), r.Life.Status.Planned-r.Newest.Cycle
	return usual * float64(rest), usual > 0 && rest >= 0
}

// Stalled reports whether a run that is alive has finished no cycle for a minute and six usual cycles, and for how many seconds it has not.
func Stalled(r Run) (float64, bool) {
	usual := Usual(r)
	since := seconds(r.Now) - max(r.Newest.Time, r.Life.Status.Started)
	return since, usual > 0 && since > max(60, 6*usual)
}

// At returns the cycle that a run is in. Its status is written every few seconds; a newer row knows better, and any row while a run that was resumed has not
// said where it is.
func At(r Run) int {
	if r.Newest.Time > r.Life.Status.Beat || r.Life.Status.Cycle == 0 {
		return max(r.Life.Status.Cycle, r.Newest.Cycle)
	}
	return r.Life.Status.Cycle
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func clock(r Run, unix float64) string { return Clock(time.UnixMicro(int64(unix*1e6)), r.Now) }

// alive says whether the run goes on, and how it ended if it does not.
func alive(r Run) Sentence {
	s := Sentence{ID: "alive"}
	st := r.Life.Status
	switch r.Life.State {
	case run.Running:
		running(r, &s)
	case run.Finished:
		s.Big, s.Text, s.Tone = fmt.Sprintf("Finished, %s", of(r.Newest.Cycle, st.Planned)), took(r), OK
	case run.Stopped:
		s.Big, s.Tone = fmt.Sprintf("Stopped after %s", of(r.Newest.Cycle, st.Planned)), Warn
		s.Text = join(exit(st.Exit), took(r))
	case run.Failed:
		s.Big, s.Text, s.Tone = fmt.Sprintf("Failed in cycle %d", st.Cycle), join(exit(st.Exit), took(r)), Bad
	case run.Crashed:
		s.Big, s.Tone = "Ended without a word", Bad
		s.Text = join("Last sign of life at "+lastSign(r), took(r))
	case run.Silent:
		s.Big, s.Tone = "No sign of life for "+About(r.Life.Age.Seconds()), Warn
		s.Text = fmt.Sprintf("It was in cycle %d%s on host %s, which can't be asked from here.", At(r), phase(st), said(r.Life.Holder.Host))
	default:
		s.Big, s.Text, s.Tone = "No run here", "A run begins with furlong train --run-dir and the name of a directory.", None
	}
	return s
}

// running says where a run is that goes on, and whether it moves.
func running(r Run, s *Sentence) {
	st := r.Life.Status
	s.Big, s.Tone = "Running, cycle "+Count(float64(max(1, At(r)))), OK
	if st.Planned > 0 {
		s.Big += " of " + Count(float64(st.Planned))
	}
	if r.Cycles == 0 {
		s.Text = join("No cycle is finished yet", doing(r))
		return
	}
	if since, stalled := Stalled(r); stalled {
		s.Big, s.Tone = "No cycle for "+About(since), Warn
		s.Text = join(fmt.Sprintf("The usual one takes %s", Seconds(Usual(r))), doing(r))
		return
	}
	left := ""
	if v, known := Left(r); known {
		left = fmt.Sprintf(", about %s left", About(v))
	}
	s.Text = fmt.Sprintf("%s a cycle%s. %s", Seconds(Usual(r)), left, serves(r))
}

// Serving returns the version that serves, or served last: what the status says, which is written again after each push, or the newest row's where that is
// of a later one. 0 is not known.
func Serving(r Run) rl.Version { return max(r.Life.Status.Serving, r.Newest.Version) }

// serves says which version that is. A row alone can't tell, since the push comes after it.
func serves(r Run) string {
	if r.Life.Status.Serving < r.Newest.Version {
		return fmt.Sprintf("The newest row is of version %s.", Version(r.Newest.Version))
	}
	return fmt.Sprintf("Version %s serves.", Version(Serving(r)))
}

// doing says what a run is at.
func doing(r Run) string {
	st := r.Life.Status
	if st.Phase == "" {
		return ""
	}
	text := "In phase " + said(st.Phase)
	if st.PhaseSince > 0 {
		text += " for " + About(max(0, seconds(r.Now)-st.PhaseSince))
	}
	if st.WaitingFor != "" {
		text += ", waiting for " + said(st.WaitingFor)
	}
	return text
}

// lastSign says when a run was last heard of, and where it was.
func lastSign(r Run) string {
	st := r.Life.Status
	if r.Newest.Time > st.Beat {
		return fmt.Sprintf("%s after cycle %d", clock(r, r.Newest.Time), At(r))
	}
	return fmt.Sprintf("%s in cycle %d%s", clock(r, st.Beat), st.Cycle, phase(st))
}

func phase(st run.Status) string {
	if st.Phase == "" {
		return ""
	}
	return ", phase " + said(st.Phase)
}

// of says how many cycles of the plan are done.
func of(done, planned int) string {
	if planned == 0 {
		return fmt.Sprintf("%s cycles", Count(float64(done)))
	}
	return fmt.Sprintf("%s of %s cycles", Count(float64(done)), Count(float64(planned)))
}

// took says how long the cycles that count took.
func took(r Run) string {
	if r.Cycles == 0 {
		return "No cycle was finished."
	}
	return fmt.Sprintf("%s of cycles, %s each.", Seconds(r.Points["perf/step_time"].sum()), Seconds(Usual(r)))
}

func exit(why string) string {
	if why == "" {
		return ""
	}
	return "It said: " + said(why)
}
