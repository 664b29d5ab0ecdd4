package bench

import (
	"fmt"
	"strings"
)

// Marks in a Markdown page stand in lines of their own, around what Page writes between them.
func marks(name string) (begin, end string) {
	return "<!-- bench: " + name + " -->", "<!-- end: " + name + " -->"
}

// CheckPage says whether text has the marks for everything that cfg asks for.
func CheckPage(text string, cfg Config) error {
	names := []string{"machine"}
	if cfg.has(Generate) || cfg.has(Score) || cfg.has(Train) {
		names = append(names, "works")
	}
	for _, w := range []string{Growth, Memory} {
		if cfg.has(w) {
			names = append(names, w)
		}
	}
	for _, n := range names {
		if _, err := splice(text, n, ""); err != nil {
			return err
		}
	}
	return nil
}

// Page returns text with the tables of r put between its marks: machine, works, growth, memory. Marks of what was not measured stay as
// they are; something measured without marks is an error. command is what was typed.
func (r *Report) Page(text, command string) (string, error) {
	text, err := splice(text, "machine", r.about(command))
	for _, t := range r.tables() {
		if err != nil {
			return "", err
		}
		text, err = splice(text, t.name, t.markdown())
	}
	return text, err
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
