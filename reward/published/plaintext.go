package published

import (
	"strings"
	"unicode"
)

// characters are what commands without arguments become in plain text. A command that is not here becomes nothing.
var characters = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ",
	"lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "pi", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "ϕ", "varphi": "φ", "chi": "χ",
	"psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
	"cdot": "*", "times": "*", "div": "÷", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "neq": "≠", "in": "∈", "notin": "∉",
	"cup": "U", "cap": "∩", "infty": "inf", "emptyset": "∅", "varnothing": "∅", "circ": "∘", "ldots": "…", "cdots": "⋯", "dots": "…", "to": "→",
	"rightarrow": "→", "Rightarrow": "⇒", "approx": "≈", "equiv": "≡", "sim": "∼", "angle": "∠", "perp": "⊥", "parallel": "∥", "mid": "|", "vert": "|",
	"lvert": "|", "rvert": "|", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "setminus": "∖", "subset": "⊂",
	"subseteq": "⊆", "partial": "∂", "nabla": "∇", "sum": "∑", "prod": "∏", "int": "∫", "star": "⋆", "ast": "∗", "prime": "'", "ell": "ℓ", "forall": "∀", "exists": "∃",
	"sin": "sin", "cos": "cos", "tan": "tan", "log": "log", "ln": "ln", "exp": "exp", "arcsin": "arcsin",
	"arccos": "arccos", "arctan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "max": "max", "min": "min", "lim": "lim",
	"quad": "  ", "qquad": "    ", ",": " ", ";": " ", ":": " ", " ": " ", "!": "", "{": "{", "}": "}", "%": "%", "&": "&", "#": "#",
	"_": "_", "$": "$", `\`: "\n", "backslash": `\`, "lbrace": "{", "rbrace": "}", "wedge": "∧", "vee": "∨",
	"cong": "≅", "propto": "∝", "complement": "∁", "square": "□", "bullet": "∙", "oplus": "⊕", "otimes": "⊗",
	"surd": "√", "flat": "♭", "dagger": "†", "vdots": "⋮", "dotsc": "…", "oint": "∮", "bigcap": "⋂", "rVert": "‖", "leqslant": "⩽", "supset": "⊃",
	"iint": "∬", "geqslant": "⩾", "prec": "≺", "vdash": "⊢", "Vert": "‖", "bigcup": "⋃", "Leftarrow": "⇐", "simeq": "≃", "inf": "inf", "vartheta": "ϑ",
	"asymp": "≍", "because": "∵", "longrightarrow": "⟶", "downarrow": "↓", "aleph": "ℵ", "Leftrightarrow": "⇔", "top": "⊤", "Upsilon": "Υ",
	"therefore": "∴", "doteq": "≐", "ominus": "⊖", "lnot": "¬", "diamond": "♢", "gg": "≫", "supseteq": "⊇", "nmid": "∤", "varsigma": "ς",
	"leftarrow": "←", "mapsto": "↦", "leftrightarrow": "↔", "hbar": "ħ", "succ": "≻", "varpi": "ϖ", "ll": "≪", "wp": "℘", "uparrow": "↑", "ni": "∋",
	"varrho": "ϱ", "triangleleft": "◃", "sharp": "♯", "natural": "♮", "lVert": "‖", "blacksquare": "▪", "ddots": "⋱", "sup": "sup", "hookrightarrow": "↪",
}

// marks are commands that put a mark on a letter.
var marks = map[string]string{"vec": "\u20d7", "hat": "\u0302", "bar": "\u0305", "tilde": "\u0303", "dot": "\u0307", "ddot": "\u0308"}

// A plainer turns LaTeX into plain text as the published grader's library does: fractions lose their braces, so that
// \frac{x+1}{2} becomes x+1/2.
type plainer struct {
	in      string
	at      int
	depth   int
	tooDeep bool // the library breaks here: groups and arguments stand within more of them than deepest
}

// deepest is how many groups and arguments may stand within each other.
const deepest = 400

// plainText converts a text, or returns it as it is where the library would break.
func plainText(s string) string {
	before := s
	s = strings.ReplaceAll(strings.ReplaceAll(s, `\tfrac`, `\frac`), `\dfrac`, `\frac`)
	p := &plainer{in: strings.ReplaceAll(s, `\frac`, ` \frac`)}
	out, ok := p.until(0)
	if !ok || p.tooDeep {
		return before
	}
	out = strings.NewReplacer("√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×", "*").Replace(out)
	return strings.TrimFunc(out, isSpace)
}

// enter goes one level down, if there is one.
func (p *plainer) enter() bool {
	p.depth++
	p.tooDeep = p.tooDeep || p.depth > deepest
	return !p.tooDeep
}

func (p *plainer) leave() { p.depth-- }

// part converts a text within the one that p converts.
func (p *plainer) part(text string) (string, bool) {
	q := &plainer{in: text, depth: p.depth}
	out, ok := q.until(0)
	p.tooDeep = p.tooDeep || q.tooDeep
	return out, ok
}

// until converts up to the closing brace of a group, or to the end for 0.
func (p *plainer) until(closer byte) (string, bool) {
	if !p.enter() {
		return "", false
	}
	defer p.leave()
	var out strings.Builder
	for p.at < len(p.in) {
		c := p.in[p.at]
		switch {
		case c == closer && closer != 0:
			p.at++
			return out.String(), true
		case c == '{':
			p.at++
			inner, ok := p.until('}')
			if !ok {
				return "", false
			}
			out.WriteString(inner)
		case c == '}': // closes nothing
			p.at++
		case c == '\\':
			text, ok := p.command()
			if !ok {
				return "", false
			}
			out.WriteString(text)
		case c == '&':
			p.at++
			out.WriteString("   ")
		case c == '~':
			p.at++
			out.WriteRune('\u00a0')
		case c == '-' && strings.HasPrefix(p.in[p.at:], "--"):
			n := min(3, len(p.in[p.at:])-len(strings.TrimLeft(p.in[p.at:], "-")))
			p.at += n
			out.WriteString([]string{"–", "—"}[n-2])
		default:
			out.WriteByte(c)
			p.at++
		}
	}
	return out.String(), true // what is never closed ends here
}

// command converts a command with its arguments.
func (p *plainer) command() (string, bool) {
	p.at++
	from := p.at
	for p.at < len(p.in) && (p.in[p.at] >= 'a' && p.in[p.at] <= 'z' || p.in[p.at] >= 'A' && p.in[p.at] <= 'Z') {
		p.at++
	}
	if p.at == from {
		if p.at == len(p.in) {
			return "", true
		}
		first, _ := firstRune(p.in[p.at:])
		p.at += len(first)
		return characters[first], true
	}
	name := p.in[from:p.at]
	for p.at < len(p.in) && unicode.IsSpace(rune(p.in[p.at])) { // blanks end the name
		p.at++
	}
	switch name {
	case "frac":
		a, _ := p.argument()
		b, ok := p.argument()
		if !ok { // what the library makes of it
			return "%s/%s" + a, true
		}
		return a + "/" + b, true
	case "sqrt":
		p.option()
		a, ok := p.argument()
		return "√(" + a + ")", ok
	case "begin":
		return p.environment()
	case "mbox", "textsf", "texttt", "textup", "textmd", "color", "textcolor", "hspace", "vspace", "label", "ref", "end":
		_, ok := p.argument()
		return "", ok
	}
	if font, ok := alphabets[name]; ok {
		a, ok := p.argument()
		return font.write(a), ok
	}
	if m := marks[name]; m != "" {
		a, ok := p.argument()
		return a + m, ok
	}
	return characters[name], true
}

// option skips [...].
func (p *plainer) option() {
	if p.at < len(p.in) && p.in[p.at] == '[' {
		if i := strings.IndexByte(p.in[p.at:], ']'); i >= 0 {
			p.at += i + 1
		}
	}
}

// argument converts a group, a command or one character.
func (p *plainer) argument() (string, bool) {
	for p.at < len(p.in) && (unicode.IsSpace(rune(p.in[p.at])) || p.in[p.at] == '}') {
		p.at++
	}
	if p.at == len(p.in) {
		return "", false
	}
	switch p.in[p.at] {
	case '{':
		p.at++
		return p.until('}')
	case '\\':
		if !p.enter() {
			return "", false
		}
		defer p.leave()
		return p.command()
	}
	first, _ := firstRune(p.in[p.at:])
	p.at += len(first)
	return first, true
}

// bracketed are the environments that become [ a b; c d ].
var bracketed = map[string]bool{"pmatrix": true, "bmatrix": true, "smallmatrix": true, "array": true}

// environment converts a matrix to [ a b; c d ], and what another holds as it stands there.
func (p *plainer) environment() (string, bool) {
	name, ok := p.argument()
	finish := `\end{` + name + "}"
	body := p.in[p.at:]
	if !ok {
		return "", false
	}
	if i := strings.Index(body, finish); i >= 0 {
		body = body[:i]
		p.at += len(finish)
	}
	p.at += len(body)
	if name == "array" { // its columns
		if i := strings.IndexByte(body, '}'); strings.HasPrefix(body, "{") && i > 0 {
			body = body[i+1:]
		}
	}
	if !bracketed[name] {
		return p.part(body)
	}
	var rows []string
	for _, row := range strings.Split(body, `\\`) {
		var cells []string
		for _, cell := range strings.Split(row, "&") {
			text, ok := p.part(cell)
			if !ok {
				return "", false
			}
			cells = append(cells, strings.TrimSpace(text))
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return "[ " + strings.Join(rows, "; ") + " ]", true
}
