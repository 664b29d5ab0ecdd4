package bench

import (
	"fmt"
	"strings"
)

// Marks in a Markdown page stand in lines of their own, around what Page writes between them.
func marks(name string) (begin, end string) {
	return "<!-- bench: " + name + " -->", "<!-- end: " + name + " -->"
}

// Page returns text with the tables of r put between its marks: machine, works, growth, memory. Marks of works that were not measured stay as
// they are; a work without marks is an error.
func (r *Report) Page(text, command string) (string, error) {
	parts := []struct{ name, text string }{{"machine", r.about(command)}}
	for name, t := range map[string]table{"works": r.works(), "growth": r.growth(), "memory": r.memory()} {
		if len(t.rows) > 0 {
			parts = append(parts, struct{ name, text string }{name, t.markdown()})
		}
	}
	for _, p := range parts {
		var err error
		if text, err = splice(text, p.name, p.text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// splice replaces what stands between the marks of a name.
func splice(text, name, with string) (string, error) {
	begin, end := marks(name)
	head, rest, ok := strings.Cut(text, begin+"\n")
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("the page has no lines %q and %q", begin, end)
	}
	return head + begin + "\n" + with + end + tail, nil
}

// about says what was measured, where and how.
func (r *Report) about(command string) string {
	return fmt.Sprintf("`%s`, %s, %s.\n\n- %s\n- %s\n- %s\n", command, r.Date.Format("2006-01-02"), r.Build, r.Machine, r.Model, r.Rates)
}

// markdown returns t as a Markdown table.
func (t table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	b.WriteString("|" + strings.Repeat("---|", len(t.head)) + "\n")
	for _, row := range t.rows {
		line(row)
	}
	if t.note != "" {
		fmt.Fprintf(&b, "\n%s.\n", strings.ToUpper(t.note[:1])+t.note[1:])
	}
	return b.String()
}
