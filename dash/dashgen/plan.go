package dashgen

import (
	"fmt"

	"furlong/metrics/run"
)

// Where faults are planted.
const (
	jumpAt       = 37  // the gap of three samples of one group
	hostileAt    = 50  // every text is made to break pages
	crashAt      = 117 // the last cycle of the first attempt; 115 to 117 run again
	lostTo       = 121 // 118 to 121 have no row
	nanAt        = 240 // the loss is no number, and the step is skipped
	unequalAt    = 300 // written twice with unequal values
	cutFrom      = 400 // truncation 0.8
	cutTo        = 460
	flatFrom     = 500 // entropy collapses
	flatTo       = 620
	unattestedAt = 700 // update
	noP99At      = 777
	zeroFrom     = 800 // all rewards 0
	zeroTo       = 820
	longAt       = 900  // one answer 20 times as long
	deadFrom     = 1000 // expert 5 of layer 2
	deadTo       = 1100
	jumpToken    = 1018 // response token with the largest gap of the jump
	longKeyLen   = 300
)

// plants reports whether a fault of cycle c is planted.
func (m *maker) plants(c int) bool { return !m.o.Plain && c <= m.o.Cycles }

func (m *maker) in(c, from, to int) bool { return m.plants(from) && c >= from && c <= to }

// lost reports whether the crash took a cycle.
func (m *maker) lost(c int) bool { return m.plants(crashAt+5) && c > crashAt && c <= lostTo }

// plant notes a fault in planted.json.
func (m *maker) plant(name string, what any) { m.planted[name] = what }

// again runs the last three cycles before the crash once more, as the second attempt, with equal values. The dice have moved on meanwhile, so the rows are those of before.
func (m *maker) again() error {
	m.attempt = 2
	if err := m.openSamples(); err != nil {
		return err
	}
	if err := m.say("WARN", "run taken over from a process that died", nil); err != nil {
		return err
	}
	m.plant("crash", map[string]any{"lost": [2]int{crashAt + 1, lostTo}, "again": []int{115, 116, 117}})
	for c := crashAt - 2; c <= crashAt; c++ {
		m.clock += 41
		if err := m.repeat(c); err != nil {
			return err
		}
	}
	return nil
}

// torn ends the file of rows with what a reader must pass over.
func (m *maker) torn() error {
	if m.o.Plain || m.o.Cycles < 2 {
		return nil
	}
	m.plant("bad_lines", 2)
	_, err := fmt.Fprintf(m.rows, "{\"kind\":\"cycle\",\"attempt\":%d,\"train/loss\":1}\nnot a row\n{\"kind\":\"cycle\",\"cycle\":%d,\"att", m.attempt, m.o.Cycles+1)
	return err
}

// alarm writes a line of alarms.jsonl.
func (m *maker) alarm(kind, id, severity string, c int, text string) error {
	return writeLine(m.alarms, run.Alarm{Kind: kind, ID: id, Severity: severity, Cycle: c, Attempt: m.attempt, Time: m.clock, Text: text, Link: fmt.Sprintf("/?c=%d", c)})
}

// alarmsOf writes the alarms of a cycle.
func (m *maker) alarmsOf(c int) error {
	if m.o.Plain {
		return nil
	}
	for _, a := range []struct {
		at, until    int
		id, sev, say string
	}{
		{jumpAt, jumpAt + 10, "gap-jump", "warning", "the gap's p99 is far above the 20 cycles before: three samples of one group make nearly all of it"},
		{hostileAt, hostileAt + 10, "garbled", "warning", hostile[0] + hostile[2] + " in the answers"},
		{nanAt, nanAt + 10, "non-finite", "error", "the loss is NaN; the step was skipped"},
		{cutFrom, cutTo + 10, "truncation", "warning", "80 % of the answers end at the length limit"},
		{unattestedAt, unattestedAt + 10, "update", "error", "the engine did not attest the update"},
		{zeroFrom + 5, zeroTo + 10, "equal-rewards", "warning", "all rewards are equal for 5 cycles: does the grader find the answer?"},
		{deadFrom + 20, deadTo + 10, "dead-experts", "warning", "expert 5 of layer 2 had no token for 20 cycles"},
	} {
		var err error
		switch {
		case c == a.at:
			err = m.alarm(run.Raised, a.id, a.sev, c, a.say)
		case c == a.until:
			err = m.alarm(run.Cleared, a.id, a.sev, c, "well again")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hostile are texts that break pages which trust them.
var hostile = []string{
	"<script>window.__x=1</script>", "</script><img src=x onerror=__x=1>", `"><svg/onload=__x=1>`, "javascript:window.__x=1", "{{7*7}}", "\u2028", "\x00", "\u202e", "\u2066", "\x1b[31m", "\xed\xa0\x80\xff",
}
