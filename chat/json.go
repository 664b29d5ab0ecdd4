package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// spaced rewrites JSON as DeepSeek's models have seen it: one line, a blank after each colon and comma, keys in the
// order they came, numbers as they were written, and nothing escaped that need not be.
func spaced(raw []byte) (string, error) {
	if !json.Valid(raw) { // which bounds how deep values nest, too
		return "", fmt.Errorf("value is %.80q, want JSON", raw)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var b strings.Builder
	err := writeValue(&b, d)
	return b.String(), err
}

// writeValue copies the next value of d.
func writeValue(b *strings.Builder, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return writeParts(b, d, v)
	case string:
		quote(b, v)
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v) // true, false or a json.Number
	}
	return nil
}

// writeParts copies an object or a list, of which d has read the opening.
func writeParts(b *strings.Builder, d *json.Decoder, open json.Delim) error {
	b.WriteString(open.String())
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if open == '{' {
			if err := writeValue(b, d); err != nil {
				return err
			}
			b.WriteString(": ")
		}
		if err := writeValue(b, d); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err == nil {
		b.WriteString(end.(json.Delim).String()) // after More is false there is an end or an error
	}
	return err
}

// quote writes a JSON string. Only quotes, backslashes and control characters are escaped.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			b.WriteString(escape(byte(r)))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

func escape(c byte) string {
	if i := strings.IndexByte("\b\f\n\r\t", c); i >= 0 {
		return `\` + "bfnrt"[i:i+1]
	}
	return fmt.Sprintf(`\u%04x`, c)
}
