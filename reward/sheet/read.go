package sheet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"furlong/data/rows"
	"furlong/reward"
)

// longestRow is the most bytes of a row.
const longestRow = 16 << 20

// A field is a key of a row with its value as it was written.
type field struct {
	key string
	raw json.RawMessage
}

// A Row is one row and its verdict.
type Row struct {
	Line         int
	Gold, Answer string // as far as they could be read
	Equal        *bool  // nil where it could not be judged
	Why          string
	Fault        error // what is wrong with the row itself

	fields []field
	gold   reward.Gold
	bytes  int
}

// A reader reads rows.
type reader struct {
	in   *bufio.Reader
	line int
}

// next returns the next row that is not blank, or io.EOF.
func (r *reader) next() (*Row, error) {
	for {
		text, tooLong, err := r.readLine()
		if err != nil {
			return nil, err
		}
		row := &Row{Line: r.line, bytes: len(text)}
		if tooLong {
			row.Fault = fmt.Errorf("row is longer than %d MiB, want shorter ones", longestRow>>20)
			return row, nil
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		row.Fault = row.read(text)
		return row, nil
	}
}

// readLine returns the next line without its end. Of one that is too long nothing is kept.
func (r *reader) readLine() (text []byte, tooLong bool, err error) {
	if r.line == 0 {
		if mark, err := r.in.Peek(3); err == nil && string(mark) == "\ufeff" {
			_, _ = r.in.Discard(3)
		}
	}
	r.line++
	for n := 0; ; n++ {
		part, err := r.in.ReadSlice('\n')
		if len(text)+len(part) > longestRow+2 {
			tooLong, text = true, nil
		}
		if !tooLong {
			text = append(text, part...)
		}
		switch {
		case err == nil:
			return text, tooLong, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (n > 0 || len(part) > 0):
			return text, tooLong, nil
		default:
			return nil, false, err
		}
	}
}

// read takes a row apart.
func (row *Row) read(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("row is not UTF-8: byte %d", broken(text)+1)
	}
	var err error
	if row.fields, err = fieldsOf(text); err != nil {
		return err
	}
	if key, ok := rows.Twice(text); ok {
		return fmt.Errorf("key %q is there twice", key)
	}
	gold, answer := row.field("gold"), row.field("answer")
	switch {
	case gold == nil:
		return errors.New("row has no gold, want the keys gold and answer")
	case answer == nil || string(answer) == "null":
		return errors.New("row has no answer, want the keys gold and answer")
	}
	if row.Answer, err = text1(answer); err != nil {
		return err
	}
	nums := reward.NumbersOf(row.field("metadata"))
	if nums == nil {
		nums = row.field("nums")
	}
	gold = reward.WithNumbers(gold, nums)
	if row.gold, err = reward.ReadGold(gold); err != nil {
		row.Why = err.Error() // the row can be read and not judged
		return nil
	}
	row.Gold = row.gold.String()
	return nil
}

// broken returns where the first byte is that is not UTF-8.
func broken(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// text1 returns an answer: a text, or a number as it is written.
func text1(raw json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String(), nil
	}
	return "", fmt.Errorf("answer is %.40s, want a text", raw)
}

// fieldsOf returns the keys of an object in their order.
func fieldsOf(text []byte) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("row is no JSON: %w", said(err))
	}
	if t != json.Delim('{') {
		return nil, fmt.Errorf("row begins with %.20s, want a JSON object", text)
	}
	var all []field
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("row is no JSON: %w", said(err))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("row is no JSON: %w", said(err))
		}
		all = append(all, field{fmt.Sprint(key), raw})
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("row is no JSON: %w", said(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("row has more behind its object, want one object a line")
	}
	return all, nil
}

// said says of an early end what it means.
func said(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return err
}

// field returns the value of the last key of that name, or nil.
func (row *Row) field(key string) json.RawMessage {
	for i := len(row.fields) - 1; i >= 0; i-- {
		if row.fields[i].key == key {
			return row.fields[i].raw
		}
	}
	return nil
}

// MarshalJSON writes the row with equal and why behind its own keys.
func (row *Row) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	write := func(before string, v any, behind string) (err error) {
		out.WriteString(before)
		if err = e.Encode(v); err == nil {
			out.Truncate(out.Len() - 1) // the line break
			out.WriteString(behind)
		}
		return err
	}
	out.WriteByte('{')
	for _, f := range row.fields {
		if f.key == "equal" || f.key == "why" {
			continue
		}
		if err := write("", f.key, ":"); err != nil {
			return nil, err
		}
		out.Write(f.raw)
		out.WriteByte(',')
	}
	if err := write(`"equal":`, row.Equal, ","); err != nil {
		return nil, err
	}
	if err := write(`"why":`, row.Why, "}"); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
