package run

import (
	"encoding/json"
	"log/slog"
	"math"
	"time"
)

// LogHandler returns a handler that writes to log.jsonl, one JSON object a line, each with its attempt.
func (d *Dir) LogHandler(level slog.Leveler) slog.Handler {
	h := slog.NewJSONHandler(d.log, &slog.HandlerOptions{Level: level, ReplaceAttr: LogAttr})
	return h.WithAttrs([]slog.Attr{slog.Int("attempt", d.holder.Attempt)})
}

// LogAttr is a ReplaceAttr for logs in JSON, which has no number for what is not finite: rows and logs write a string then, "NaN",
// "Infinity" or "-Infinity".
func LogAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindFloat64 {
		return a
	}
	switch v := a.Value.Float64(); {
	case math.IsNaN(v):
		return slog.String(a.Key, "NaN")
	case math.IsInf(v, 1):
		return slog.String(a.Key, "Infinity")
	case math.IsInf(v, -1):
		return slog.String(a.Key, "-Infinity")
	}
	return a
}

// A LogLine is a line of log.jsonl.
type LogLine struct {
	Time    time.Time
	Level   slog.Level
	Message string
	Attempt int
	Attrs   map[string]any // the others
}

// ParseLog reads a line of log.jsonl.
func ParseLog(line []byte) (LogLine, error) {
	var head struct {
		Time    time.Time  `json:"time"`
		Level   slog.Level `json:"level"`
		Msg     string     `json:"msg"`
		Attempt int        `json:"attempt"`
	}
	l := LogLine{}
	if err := json.Unmarshal(line, &head); err != nil {
		return l, err
	}
	if err := json.Unmarshal(line, &l.Attrs); err != nil {
		return l, err
	}
	for _, name := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey, "attempt"} {
		delete(l.Attrs, name)
	}
	l.Time, l.Level, l.Message, l.Attempt = head.Time, head.Level, head.Msg, head.Attempt
	return l, nil
}
