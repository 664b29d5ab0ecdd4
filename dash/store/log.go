package store

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
)

// A LogAsk says which lines of the log are wanted.
type LogAsk struct {
	Level  slog.Level // and above
	After  *int64     // lines from this offset on
	Before *int64     // the last lines before this offset; without both, the last
	Limit  int
	Q      string // text that a line holds
}

// A line of the log beyond this is shown cut.
const logLineMax = 64 << 10

// logScan bounds what one call reads of the log, so that a rare text in a long log takes several.
const logScan = 64 << 20

// Log answers a piece of the log.
func (r *Run) Log(a LogAsk) (*api.Log, error) { return r.readLog(a) }

func (r *Run) readLog(a LogAsk) (*api.Log, error) {
	out := &api.Log{Lines: []api.LogLine{}}
	f, err := disk.OpenIn(r.root, run.LogFile)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, r.broken(run.LogFile, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, r.broken(run.LogFile, err)
	}
	out.Size, out.After = info.Size(), info.Size()
	limit := cmp.Or(a.Limit, 200)
	if a.After != nil {
		err = a.forward(f, out, limit)
	} else {
		err = a.backward(f, out, limit)
	}
	if err != nil {
		return nil, r.broken(run.LogFile, err)
	}
	return out, nil
}

// forward reads lines from an offset on.
func (a LogAsk) forward(f io.ReaderAt, out *api.Log, limit int) error {
	out.After = min(max(*a.After, 0), out.Size)
	start := out.After
	return eachLine(f, start, out.Size, func(offset int64, raw []byte, whole bool) bool {
		if !whole {
			return false
		}
		if len(out.Lines) == limit || offset-start > logScan {
			return false
		}
		out.After = offset + int64(len(raw)) + 1
		if l, ok := a.line(offset, raw); ok {
			out.Lines = append(out.Lines, l)
		}
		return true
	})
}

// backward reads the last lines before an offset, by pieces of the file that grow.
func (a LogAsk) backward(f io.ReaderAt, out *api.Log, limit int) error {
	end := out.Size
	if a.Before != nil {
		end = min(max(*a.Before, 0), out.Size)
	}
	from := end
	for size := int64(64 << 10); from > 0 && len(out.Lines) < limit && end-from < logScan; size *= 2 {
		lo := max(from-size, 0)
		var piece []api.LogLine
		first := int64(-1)
		err := eachLine(f, lo, from, func(offset int64, raw []byte, whole bool) bool {
			if offset == lo && lo > 0 && first < 0 {
				first = offset + int64(len(raw)) + 1 // the piece begins within a line
				return true
			}
			if l, ok := a.line(offset, raw); ok && whole {
				piece = append(piece, l)
			}
			return true
		})
		if err != nil {
			return err
		}
		if first >= from {
			continue // one line is longer than the piece
		}
		from = max(first, 0)
		if lo == 0 {
			from = 0
		}
		out.Lines = append(piece, out.Lines...)
	}
	if n := len(out.Lines) - limit; n > 0 {
		out.Lines = out.Lines[n:]
		from = out.Lines[0].Offset
	}
	if from > 0 {
		out.Before = &from
	}
	if a.Before != nil {
		out.After = end
	}
	return nil
}

// eachLine calls each with the lines between two offsets; whole is false for one without its line feed. A line is held in memory only as far as it is shown.
func eachLine(f io.ReaderAt, from, to int64, each func(offset int64, raw []byte, whole bool) bool) error {
	buf, offset := make([]byte, 64<<10), from
	var line []byte
	at := from
	for at < to {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		piece := buf[:n]
		at += int64(n)
		for len(piece) > 0 {
			i := bytes.IndexByte(piece, '\n')
			if i < 0 {
				line = append(line, piece...)
				break
			}
			line = append(line, piece[:i]...)
			if !each(offset, line, true) {
				return nil
			}
			offset += int64(len(line)) + 1
			line, piece = line[:0], piece[i+1:]
		}
	}
	if len(line) > 0 {
		each(offset, line, false)
	}
	return nil
}

// line reads a line, and reports whether it is asked for. A line that is none is shown as it is, as an error.
func (a LogAsk) line(offset int64, raw []byte) (api.LogLine, bool) {
	if a.Q != "" && !bytes.Contains(bytes.ToLower(raw), []byte(strings.ToLower(a.Q))) {
		return api.LogLine{}, false
	}
	out := api.LogLine{Offset: offset, Level: slog.LevelError.String(), Attrs: map[string]any{}}
	l, err := run.ParseLog(raw)
	switch {
	case len(raw) > logLineMax:
		out.Msg, out.Cut = strings.ToValidUTF8(string(raw[:logLineMax]), "\ufffd"), true
	case err != nil:
		out.Msg, out.Attrs["error"] = strings.ToValidUTF8(string(raw), "\ufffd"), err.Error()
	default:
		out.Time, out.Level, out.Msg, out.Attempt, out.Attrs = metrics.Unix(l.Time), l.Level.String(), l.Message, l.Attempt, l.Attrs
		if l.Level < a.Level {
			return out, false
		}
	}
	return out, true
}

// searchLog returns the offset of a line at or before the first one of time t or later, by halving: lines are written in the order of time.
func searchLog(f io.ReaderAt, size int64, t float64) int64 {
	lo, hi := int64(0), size // a line begins at lo, and lines from hi on are of t or later
	for hi-lo > 64<<10 {
		mid := (lo + hi) / 2
		at, when := int64(-1), 0.0
		_ = eachLine(f, mid, min(size, mid+(1<<20)), func(offset int64, raw []byte, whole bool) bool {
			if offset == mid { // the middle of a line
				return true
			}
			l, err := run.ParseLog(raw)
			if err != nil || !whole {
				return true
			}
			at, when = offset, metrics.Unix(l.Time)
			return false
		})
		if at < 0 || at >= hi || when >= t {
			hi = mid
		} else {
			lo = at
		}
	}
	return lo
}
