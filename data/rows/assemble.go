package rows

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// shape says what a column is as JSON.
type shape int

const (
	leaf shape = iota
	object
	array // of its one child
	pairs // a map: of its two children
)

// A column is a node of the schema and knows its place among the levels.
type column struct {
	name     string
	shape    shape
	def, rep int // levels of a value that is there
	first    int // leaf columns below it: first to first+leaves-1
	leaves   int
	unsigned bool
	children []column
}

// columnsOf returns the columns of a file, and those that have no form in JSON.
func columnsOf(f *parquet.File) (top []column, left []string, err error) {
	b := builder{groups: f.Metadata().RowGroups}
	for _, field := range f.Root().Columns() {
		from := b.leaf
		c, err := b.column(field, 0, 0, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("column %s: %w", field.Name(), err)
		}
		if b.strange {
			b.strange, left = false, append(left, field.Name())
			b.leaf = from + c.leaves
			continue
		}
		top = append(top, c)
	}
	if len(top) == 0 {
		return nil, nil, fmt.Errorf("no column has a form in JSON; there are %q", left)
	}
	return top, left, nil
}

// builder counts leaf columns on its way through a schema.
type builder struct {
	groups  []format.RowGroup
	leaf    int
	strange bool // a leaf without a form in JSON was met
}

func (b *builder) column(n *parquet.Column, def, rep, depth int) (column, error) {
	if depth > mostDepth || b.leaf > mostColumns {
		return column{}, fmt.Errorf("schema has more than %d groups in each other or %d columns", mostDepth, mostColumns)
	}
	c := column{name: n.Name(), first: b.leaf}
	if n.Optional() || n.Repeated() {
		def++
	}
	if n.Repeated() { // a repeated field that is not inside a LIST is a list of its own
		c.shape, c.def, c.rep = array, def, rep+1
		inner, err := b.inner(n, def, rep+1, depth)
		c.children, c.leaves = []column{inner}, b.leaf-c.first
		return c, err
	}
	return b.inner(n, def, rep, depth)
}

// inner returns what a node is, its own levels already counted.
func (b *builder) inner(n *parquet.Column, def, rep, depth int) (column, error) {
	c := column{name: n.Name(), def: def, rep: rep, first: b.leaf}
	if n.Leaf() {
		b.strange = b.strange || b.runs()
		b.leaf++
		c.leaves = 1
		logical := n.Type().LogicalType()
		c.unsigned = isUnsigned(logical)
		b.strange = b.strange || !shown(n.Type())
		return c, nil
	}
	c.shape = object
	fields := n.Columns()
	list, isMap := isList(n), isMap(n)
	if list || isMap { // LIST and MAP wrap their elements in a repeated group
		repeated := fields[0]
		c.shape, c.def, c.rep = array, def+1, rep+1
		if isMap {
			c.shape = pairs
		}
		if list && (repeated.Leaf() || len(repeated.Columns()) != 1) {
			inner, err := b.inner(repeated, def+1, rep+1, depth+1)
			c.children, c.leaves = []column{inner}, b.leaf-c.first
			return c, err
		}
		def, rep, fields = def+1, rep+1, repeated.Columns()
	}
	for _, field := range fields {
		child, err := b.column(field, def, rep, depth+1)
		if err != nil {
			return c, err
		}
		c.children = append(c.children, child)
	}
	c.leaves = b.leaf - c.first
	return c, nil
}

// runs tells whether the next leaf has truth values as run lengths, which the library misreads.
func (b *builder) runs() bool {
	for _, g := range b.groups {
		if b.leaf >= len(g.Columns) {
			return false
		}
		m := &g.Columns[b.leaf].MetaData
		if g.NumRows > 0 && m.Type == format.Boolean && !slices.Contains(m.Encoding, format.Plain) {
			return true
		}
	}
	return false
}

func isList(n *parquet.Column) bool {
	t := n.Type().LogicalType()
	return is[*format.ListType](t) && wraps(n, 1)
}

func isMap(n *parquet.Column) bool {
	t := n.Type().LogicalType()
	return is[*format.MapType](t) && wraps(n, 2)
}

// wraps tells whether a node is a group around one repeated group, of so many fields if it is a map.
func wraps(n *parquet.Column, fields int) bool {
	inner := n.Columns()
	return len(inner) == 1 && inner[0].Repeated() && (fields == 1 || !inner[0].Leaf() && len(inner[0].Columns()) == fields)
}

// An assembly writes one row.
type assembly struct {
	out    []byte
	limit  int
	leaves [][]parquet.Value // of the row, by column; shortened as they are used
	fault  error
}

// row writes the values of a row as an object.
func (a *assembly) row(top []column, values parquet.Row) {
	values.Range(func(i int, v []parquet.Value) bool {
		for len(a.leaves) <= i {
			a.leaves = append(a.leaves, nil)
		}
		a.leaves[i] = v
		return true
	})
	a.object(top)
}

func (a *assembly) object(fields []column) {
	a.out = append(a.out, '{')
	for i := range fields {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		a.str(fields[i].name)
		a.out = append(a.out, ':')
		a.value(&fields[i])
	}
	a.out = append(a.out, '}')
}

// value writes a column's value, or null.
func (a *assembly) value(c *column) {
	v := a.peek(c)
	there := c.def
	if c.shape == array || c.shape == pairs {
		there-- // one level lower the list is there and empty
	}
	switch {
	case a.fault != nil:
		a.out = append(a.out, "null"...)
	case len(a.out) > a.limit:
		a.fault = fmt.Errorf("row is longer than %d bytes (--max-line-bytes)", a.limit)
	case v.DefinitionLevel() < there:
		a.skip(c)
		a.out = append(a.out, "null"...)
	case c.shape == array:
		a.array(c, func() { a.value(&c.children[0]) }, '[', ']')
	case c.shape == pairs:
		a.array(c, func() { a.pair(c) }, '{', '}')
	case c.shape == object:
		a.object(c.children)
	default:
		a.skip(c)
		a.scalar(c, v)
	}
}

// array writes elements until the next one begins a list further out.
func (a *assembly) array(c *column, element func(), open, end byte) {
	a.out = append(a.out, open)
	if a.peek(c).DefinitionLevel() < c.def {
		a.skip(c)
		a.out = append(a.out, end)
		return
	}
	for i := 0; a.fault == nil; i++ {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		element()
		if len(a.leaves[c.first]) == 0 || a.peek(c).RepetitionLevel() < c.rep {
			break
		}
	}
	a.out = append(a.out, end)
}

func (a *assembly) pair(c *column) {
	key := a.peek(&c.children[0])
	a.skip(&c.children[0])
	a.str(key.String())
	a.out = append(a.out, ':')
	a.value(&c.children[1])
}

// peek returns the next value of the first leaf of a column.
func (a *assembly) peek(c *column) parquet.Value {
	if c.first >= len(a.leaves) || len(a.leaves[c.first]) == 0 {
		if a.fault == nil {
			a.fault = fmt.Errorf("column %s has fewer values than its lists say", c.name)
		}
		return parquet.Value{}
	}
	return a.leaves[c.first][0]
}

// skip uses up one value of each leaf of a column.
func (a *assembly) skip(c *column) {
	for i := c.first; i < min(c.first+c.leaves, len(a.leaves)); i++ {
		if len(a.leaves[i]) > 0 {
			a.leaves[i] = a.leaves[i][1:]
		}
	}
}

// scalar writes a value.
func (a *assembly) scalar(c *column, v parquet.Value) {
	switch v.Kind() {
	case parquet.Boolean:
		a.out = strconv.AppendBool(a.out, v.Boolean())
	case parquet.Int32:
		a.integer(int64(v.Int32()), uint64(v.Uint32()), c.unsigned)
	case parquet.Int64:
		a.integer(v.Int64(), v.Uint64(), c.unsigned)
	case parquet.Float:
		a.float(float64(v.Float()), 32)
	case parquet.Double:
		a.float(v.Double(), 64)
	default:
		if !utf8.Valid(v.ByteArray()) {
			a.fault = fmt.Errorf("%s is not UTF-8", c.name)
			return
		}
		a.str(string(v.ByteArray()))
	}
}

func (a *assembly) integer(signed int64, unsigned uint64, u bool) {
	if u {
		a.out = strconv.AppendUint(a.out, unsigned, 10)
		return
	}
	a.out = strconv.AppendInt(a.out, signed, 10)
}

// float writes a number in its shortest form; what is none is null.
func (a *assembly) float(x float64, bits int) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		a.out = append(a.out, "null"...)
		return
	}
	form := byte('f')
	if m := math.Abs(x); m >= 1e21 || m > 0 && m < 1e-6 {
		form = 'e'
	}
	a.out = strconv.AppendFloat(a.out, x, form, -1, bits)
}

func (a *assembly) str(s string) {
	text, err := json.Marshal(s)
	if err != nil {
		a.fault = err
		return
	}
	a.out = append(a.out, text...)
}

// shown tells whether values of a type have a form in JSON.
func shown(t parquet.Type) bool {
	if t.Kind() == parquet.Int96 || t.Kind() == parquet.FixedLenByteArray {
		return false
	}
	return !is[*format.DecimalType](t.LogicalType())
}

// is tells whether a logical type is one of a kind.
func is[T format.LogicalTypeValue](t *format.LogicalType) bool {
	if t == nil {
		return false
	}
	_, ok := t.Value.(T)
	return ok
}

func isUnsigned(t *format.LogicalType) bool {
	if t == nil {
		return false
	}
	n, ok := t.Value.(*format.IntType)
	return ok && !n.IsSigned
}
