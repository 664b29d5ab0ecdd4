package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"furlong/checkpoint/safetensors"
	"furlong/quant"
)

// A journal is the file beside a half-written destination that says what it is half of. Its first line is the conversion's identity;
// then a line for each unit, written before the unit itself is.
type journal struct {
	f    *os.File
	path string
	done map[string]record // by unit, of earlier attempts
}

// A record is what became of a unit.
type record struct {
	Unit  string     `json:"unit"`
	Way   string     `json:"way"`
	Loss  quant.Loss `json:"loss"`
	Read  []Tensor   `json:"read,omitempty"` // tensors of the source that no unit before has read
	Wrote []Tensor   `json:"wrote"`

	NotFinite []NotFinite `json:"not_finite,omitempty"`
}

type firstLine struct {
	Conversion string `json:"conversion"`
}

// openJournal opens the journal of a conversion to dir, and begins one if there is none. Nobody else may write to dir meanwhile.
func openJournal(dir, identity string) (*journal, error) {
	path := safetensors.Stage(dir) + ".jsonl"
	_, err := os.Stat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if _, err := os.Stat(safetensors.Stage(dir)); err == nil && fresh {
		return nil, fmt.Errorf("%s: is there without %s, which would say what it is half of; remove it", safetensors.Stage(dir), path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	j := &journal{f: f, path: path, done: map[string]record{}}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	if err := j.read(dir, identity); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// read reads what is there, and cuts off a line that was not finished.
func (j *journal) read(dir, identity string) error {
	data, err := io.ReadAll(j.f)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if err := j.f.Truncate(int64(whole)); err != nil {
		return err
	}
	if whole == 0 {
		return j.append(firstLine{identity})
	}
	lines := bytes.Split(data[:whole-1], []byte("\n"))
	var first firstLine
	if err := json.Unmarshal(lines[0], &first); err != nil || first.Conversion != identity {
		return fmt.Errorf("%s: is half of another conversion, or of one whose source has changed since; remove it and %s to begin anew", safetensors.Stage(dir), j.path)
	}
	for i, line := range lines[1:] {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("%s: line %d: %w", j.path, i+2, err)
		}
		if was, ok := j.done[r.Unit]; ok {
			r.Read = append(r.Read, was.Read...) // a later attempt may have found them read
		}
		j.done[r.Unit] = r
	}
	return nil
}

// append writes a line. Should the machine lose it, the unit that it is about is made again.
func (j *journal) append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	return nil
}

// forget removes a journal of which nothing is done.
func (j *journal) forget() error {
	if len(j.done) > 0 {
		return nil
	}
	return os.Remove(j.path)
}

// close ends the journal: it goes when the destination is whole.
func (j *journal) close(whole bool) error {
	if whole {
		return errors.Join(os.Remove(j.path), j.f.Close())
	}
	return j.f.Close()
}
