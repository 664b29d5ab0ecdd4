package mathexpr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// operand reads a number, a name, a command with its arguments, or something in brackets.
func (p *parser) operand() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.peek()
	switch t.kind {
	case digits:
		return p.mixed()
	case letter:
		p.at++
		return p.name(t.text), nil
	case command:
		p.at++
		return p.command(t.text)
	case word:
		if p.plain {
			break
		}
		if p.strict {
			return named(Symbol, p.take().text), nil
		}
		return named(Text, strings.TrimSpace(p.phrase())), nil
	case begin:
		return p.matrix()
	case symbol:
		return p.enclosed()
	}
	return nil, fmt.Errorf("%q where a value is wanted", t.text)
}

// phrase takes words that follow each other as one text.
func (p *parser) phrase() string {
	var text strings.Builder
	text.WriteString(p.take().text)
	for p.peek().kind == word {
		if low := strings.ToLower(p.peek().text); low == "or" || low == "and" {
			break
		}
		text.WriteString(" " + p.take().text)
	}
	return text.String()
}

// name returns the constant or variable of a letter.
func (p *parser) name(s string) *Node {
	if s == "e" || s == "i" && !p.strict {
		if !p.plain {
			return named(Constant, s)
		}
	}
	if p.strict && s == "E" {
		return named(Symbol, "e")
	}
	if p.plain && s == "E" {
		return named(Constant, "e")
	}
	if p.plain && s == "I" {
		return named(Constant, "i")
	}
	return named(Symbol, s)
}

// closers are the brackets that end what others begin. A tuple or interval may end with either of two.
var closers = map[string]string{"(": ")]", "[": "])", "{": "}", `\{`: `\}`, "⟨": "⟩", "⌊": "⌋", "⌈": "⌉"}

// enclosed reads what stands in brackets or bars.
func (p *parser) enclosed() (*Node, error) {
	open := p.take().text
	bars := p.bars
	if open == "|" {
		p.bars = 1
		n, err := p.sum()
		p.bars = bars
		if err != nil {
			return nil, err
		}
		if !p.accept("|") {
			return nil, fmt.Errorf("| is never closed")
		}
		return named(Call, "abs", n), nil
	}
	closer := closers[open]
	if closer == "" {
		return nil, fmt.Errorf("%q where a value is wanted", open)
	}
	p.bars = 0
	from := p.at
	items, separated, err := p.items(!p.strict && (open == "(" || open == "{"))
	p.bars = bars
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind == command && t.text == "choose" && open == "{" && len(items) == 1 && !separated && p.at > from {
		p.at++
		below, err := p.sum()
		if err != nil {
			return nil, err
		}
		items = []*Node{named(Call, "binomial", items[0], below)}
	}
	last := p.peek()
	if last.kind != symbol || !strings.Contains(closer, last.text) || last.text == "}" && open != "{" {
		return nil, fmt.Errorf("%s is closed by %q", open, last.text)
	}
	p.at++
	if p.strict && open == "{" && slices.ContainsFunc(items, func(n *Node) bool { return n.isObject() && n.Kind != Matrix }) {
		return nil, errors.New("an object in braces")
	}
	if p.strict && separated && len(items) != 2 && strings.Contains("([", open) && open+last.text != "()" && open+last.text != "[]" {
		return nil, fmt.Errorf("%s is closed by %s around %d values", open, last.text, len(items))
	}
	return bracketed(open, last.text, items, separated)
}

// bracketed returns the object that items in brackets are.
func bracketed(open, closed string, items []*Node, separated bool) (*Node, error) {
	switch {
	case open == `\{`:
		return of(Set, items...), nil
	case open == "⟨":
		return named(Tuple, "⟨⟩", items...), nil
	case len(items) == 0:
		if open == "{" {
			return named(Text, ""), nil
		}
		return nil, fmt.Errorf("nothing in brackets")
	case open == "⌊":
		return named(Call, "floor", items[0]), nil
	case open == "⌈":
		return named(Call, "ceil", items[0]), nil
	case open == "{" && !separated:
		return items[0], nil
	case open == "{":
		return of(List, items...), nil
	case separated:
		return named(Tuple, open+closed, items...), nil
	case open+closed == "()" || open+closed == "[]":
		return items[0], nil
	}
	return nil, fmt.Errorf("%s is closed by %s around one value", open, closed)
}

// functions are commands with one argument that may stand without brackets.
var functions = set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp")

// command reads the arguments of a command.
func (p *parser) command(name string) (*Node, error) {
	switch name {
	case "frac":
		return p.two(Div)
	case "binom":
		if p.strict && p.peek().kind == digits && len(p.peek().text) > 1 {
			return nil, errors.New("\\binom of a number")
		}
		n, err := p.two(Call)
		if err != nil {
			return nil, err
		}
		n.Name = "binomial"
		return n, nil
	case "sqrt", "sqrt()":
		if p.plain && !p.peek().is("(") {
			return nil, errors.New("sqrt without an argument")
		}
		return p.root()
	case "surd", "cbrt":
		n, err := p.operand()
		if err != nil {
			return nil, err
		}
		if name == "cbrt" {
			return of(Root, n, whole(3)), nil
		}
		return of(Root, n), nil
	case "pi":
		return named(Constant, "pi"), nil
	case "infty":
		return of(Infinity), nil
	case "emptyset", "varnothing":
		if p.strict && name == "varnothing" {
			break
		}
		return of(Set), nil
	case "imath":
		return named(Constant, "i"), nil
	case "angle", "measuredangle":
		if !p.strict {
			return p.angle()
		}
	case "abs", "floor", "ceil", "factorial", "binomial":
		return p.call(name)
	case "mathbb", "mathcal", "mathfrak", "mathscr", "vec", "hat", "tilde", "overrightarrow", "widehat", "overline", "bar", "dot", "ddot":
		return p.decorated(name)
	}
	if functions[name] {
		if p.plain && !p.peek().is("(") {
			return nil, fmt.Errorf("%s without an argument", name)
		}
		return p.function(name)
	}
	if p.strict {
		name = strings.ToLower(name)
	}
	if noFactor[name] || p.strict && !strictNames[name] {
		return nil, fmt.Errorf("\\%s has no value", name)
	}
	return named(Symbol, name), nil
}

// angle reads the points of an angle, which may be named from either side.
func (p *parser) angle() (*Node, error) {
	brace := p.accept("{")
	var points []string
	for p.peek().kind == letter {
		points = append(points, p.take().text)
	}
	if brace && !p.accept("}") || len(points) == 0 {
		return nil, errors.New("an angle without its points")
	}
	if points[0] > points[len(points)-1] {
		slices.Reverse(points)
	}
	return named(Symbol, "angle("+strings.Join(points, "")+")"), nil
}

// two reads two arguments.
func (p *parser) two(k Kind) (*Node, error) {
	a, err := p.one()
	if err != nil {
		return nil, err
	}
	b, err := p.one()
	if err != nil {
		return nil, err
	}
	return of(k, a, b), nil
}

// root reads \sqrt[n]{x}.
func (p *parser) root() (*Node, error) {
	var degree *Node
	if p.peek().is("[") && !p.plain {
		var err error
		p.at++
		if degree, err = p.sum(); err != nil {
			return nil, err
		}
		if !p.accept("]") {
			return nil, fmt.Errorf("the degree of a root is not closed")
		}
	}
	argument := p.one
	if p.peek().space { // \sqrt 12
		argument = p.operand
	}
	x, err := argument()
	switch {
	case err != nil:
		return nil, err
	case degree != nil:
		return of(Root, x, degree), nil
	}
	return of(Root, x), nil
}

// call reads arguments in parentheses.
func (p *parser) call(name string) (*Node, error) {
	if !p.accept("(") {
		return nil, fmt.Errorf("%s without an argument", name)
	}
	items, _, err := p.items(!p.strict)
	if err != nil {
		return nil, err
	}
	if !p.accept(")") {
		return nil, fmt.Errorf("%s( is never closed", name)
	}
	want := 1
	if name == "binomial" {
		want = 2
	}
	if len(items) != want {
		return nil, fmt.Errorf("%s has %d arguments, want %d", name, len(items), want)
	}
	return named(Call, name, items...), nil
}

// decorated reads a letter under a mark as a name of its own.
func (p *parser) decorated(mark string) (*Node, error) {
	if p.strict && !p.peek().is("{") {
		return nil, fmt.Errorf("\\%s without braces", mark)
	}
	n, err := p.one()
	if err != nil {
		return nil, err
	}
	var names []string
	n.walk(func(m *Node) bool {
		if m.Name != "" {
			names = append(names, m.Name)
		}
		return true
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("\\%s over no letter", mark)
	}
	return named(Symbol, mark+"("+strings.Join(names, "")+")"), nil
}

// function reads \sin^2 x, \log_2(8) and their like.
func (p *parser) function(name string) (*Node, error) {
	var power, base *Node
	for range 2 {
		var err error
		switch {
		case p.peek().is("^") && power == nil:
			p.at++
			power, err = p.value()
		case p.peek().is("_") && strings.HasPrefix(name, "lo") && base == nil:
			p.at++
			if base, err = p.one(); err == nil && p.strict && base.Kind == Constant && p.tokens[p.at-1].kind == letter {
				base = named(Symbol, base.Name) // \log_e has a variable for its base
			}
		}
		if err != nil {
			return nil, err
		}
	}
	x, err := p.argument()
	if err != nil {
		return nil, err
	}
	if name == "lg" {
		name = "log"
	}
	n := named(Call, name, x)
	switch {
	case base != nil:
		n = of(Div, named(Call, "ln", x), named(Call, "ln", base))
	case name == "exp":
		n = of(Pow, named(Constant, "e"), x)
	case name == "log" && p.plain:
		n = named(Call, "ln", x)
	}
	if power != nil && power.Kind == Neg && power.Args[0].Kind == Number && power.Args[0].Value.Cmp(one) == 0 && inverses[name] != "" {
		return named(Call, inverses[name], x), nil
	}
	if power != nil {
		n = of(Pow, n, power)
	}
	return n, nil
}

// inverses are the functions that ^{-1} stands for.
var inverses = map[string]string{"sin": "arcsin", "cos": "arccos", "tan": "arctan"}

// argument reads what a function is applied to: brackets, or the factors up to the next sign.
func (p *parser) argument() (*Node, error) {
	if t := p.peek(); t.is("(") || t.is("{") || t.is("[") || t.is("|") {
		n, err := p.operand()
		if err != nil || n.isObject() {
			return n, err
		}
		if p.peek().is("!") {
			p.at++
			n = named(Call, "factorial", n)
		}
		return n, nil
	}
	var n *Node
	if p.accept("-") {
		m, err := p.argument()
		if err != nil {
			return nil, err
		}
		return of(Neg, m), nil
	}
	for {
		t := p.peek()
		if n != nil && (!p.begins() || t.is("(") || t.is("[") || t.kind == command && functions[t.text]) {
			break
		}
		f, err := p.factor()
		if err != nil {
			return nil, err
		}
		if n == nil {
			n = f
		} else {
			n = times(n, f)
		}
	}
	if p.peek().is("/") && p.tokens[p.at+1].kind == digits {
		p.at++
		d, err := p.factor()
		if err != nil {
			return nil, err
		}
		n = of(Div, n, d)
	}
	return n, nil
}

// matrices are environments that hold matrices, with their fences.
var matrices = map[string]string{"matrix": "[", "pmatrix": "[", "bmatrix": "[", "Bmatrix": "[", "array": "[", "smallmatrix": "[", "vmatrix": "|", "Vmatrix": "‖"}

// matrix reads an environment.
func (p *parser) matrix() (*Node, error) {
	name := p.take().text
	fence := matrices[name]
	if fence == "" {
		return nil, fmt.Errorf("environment %.20q is no matrix", name)
	}
	m := named(Matrix, fence)
	rows := 0
	for p.peek().kind != finish {
		row, err := p.row()
		if err != nil {
			return nil, err
		}
		if rows++; rows == 1 {
			m.Columns = len(row)
		}
		if len(row) != m.Columns {
			return nil, fmt.Errorf("row %d of a matrix has %d entries, want %d", rows, len(row), m.Columns)
		}
		m.Args = append(m.Args, row...)
		if !p.accept(`\\`) {
			break
		}
	}
	if t := p.take(); t.kind != finish || t.text != name || rows == 0 {
		return nil, fmt.Errorf("environment %.20q does not end", name)
	}
	if p.strict && fence == "|" && m.Columns == 2 && rows == 2 { // the determinant
		return of(Add, of(Mul, m.Args[0], m.Args[3]), of(Neg, of(Mul, m.Args[1], m.Args[2]))), nil
	}
	return m, nil
}

// row reads entries between &.
func (p *parser) row() ([]*Node, error) {
	var row []*Node
	for {
		n, err := p.statement()
		if err != nil {
			return nil, err
		}
		if n.has(PlusMinus) {
			return nil, fmt.Errorf("± in a matrix")
		}
		row = append(row, n)
		if !p.accept("&") {
			return row, nil
		}
	}
}
