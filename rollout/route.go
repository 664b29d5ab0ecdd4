package rollout

import (
	"encoding/binary"
	"errors"
	"slices"

	"furlong/kv"
	"furlong/model"
	"furlong/rl"
)

// What a token chose, experts in every layer and compressed entries where an indexer chooses, are rows of bytes of streams of their own, in lasting
// pages: they are shared with the token's attention state, copied with it and evicted with it. So a token that was found in the prefix cache has
// its rows too.
//
// A sample keeps the rows that it had when it lost its pages. They are of the passes that its tokens were drawn from; what is computed again,
// maybe under other weights, may have gone elsewhere.

// A router is a model that sends each token to some experts of each layer.
type router interface {
	Choices() int // experts of a token in each layer
	Experts() int // of a layer
}

// An indexer is a model with layers that choose among compressed entries.
type indexer interface {
	// Indexed returns these layers, the tokens of an entry, and the most entries that a token reads.
	Indexed() (layers []int, rate, most int)
}

// kept says which choices of tokens pages keep: by an empty record of the model's shape for each kind, nil where it is not kept.
type kept struct {
	routes  *rl.Routes
	entries *rl.Entries
	width   int // bytes of a row of entries: two for its length, and the longest
}

// streams returns what pages keep of each layer, and which choices are among it.
func (c Config) streams(m model.Model) (layers [][]kv.Spec, k kept, err error) {
	layers = m.Layers()
	if c.Experts {
		if k.routes, err = routesOf(m, len(layers)); err != nil {
			return nil, k, err
		}
		for i, specs := range layers {
			layers[i] = append(slices.Clone(specs), kv.Spec{Stream: kv.Routed, Width: k.routes.RowBytes(), Rate: 1, Bytes: true})
		}
	}
	if c.Entries {
		if k.entries, err = entriesOf(m); err != nil {
			return nil, k, err
		}
		k.width = 2 + k.entries.MostBytes(c.Context)
		for _, i := range k.entries.Layers {
			layers[i] = append(slices.Clone(layers[i]), kv.Spec{Stream: kv.Picked, Width: k.width, Rate: 1, Bytes: true})
		}
	}
	return layers, k, nil
}

func routesOf(m model.Model, layers int) (*rl.Routes, error) {
	if r, ok := m.(router); ok && r.Choices() > 0 {
		return rl.NewRoutes(layers, r.Choices(), r.Experts()), nil
	}
	return nil, errors.New("--enable-return-routed-experts: the model has no experts")
}

func entriesOf(m model.Model) (*rl.Entries, error) {
	if x, ok := m.(indexer); ok {
		if layers, rate, most := x.Indexed(); len(layers) > 0 {
			return rl.NewEntries(layers, rate, most), nil
		}
	}
	return nil, errors.New("the choices of indexers are to be kept, but no layer of the model has one")
}

// begin gives a sample empty records of the choices that are asked for, where it does not come with some.
func (k kept) begin(s *rl.Sample, ask rl.Report) {
	if ask.Experts && s.Experts == nil {
		s.Experts = k.routes.Like()
	}
	if ask.Entries && s.Entries == nil {
		s.Entries = k.entries.Like()
	}
}

// fits reports what keeps the choices that a sample comes with from being of the model.
func (k kept) fits(s *rl.Sample) error {
	if r := s.Experts; r != nil {
		if k.routes == nil {
			return errors.New("what is begun comes with its experts, want --enable-return-routed-experts")
		}
		if err := r.Check(k.routes.Layers, k.routes.Choices, k.routes.Experts); err != nil {
			return err
		}
	}
	if s.Entries != nil {
		return s.Entries.Fits(k.entries.Layers, k.entries.Rate, k.entries.Most)
	}
	return nil
}

// route keeps the experts of the lane's tokens in a layer.
func (l *lane) route(layer int, choice []int32) {
	l.bytes = l.kept.routes.Pack(l.bytes[:0], choice)
	l.kv.PutBytes(layer, &l.in, kv.Routed, l.bytes)
}

// pick keeps the entries that the lane's tokens read in a layer.
func (l *lane) pick(layer int, choice []int32) {
	n, width := l.in.Len(), l.kept.width
	l.bytes = resize(l.bytes, n*width)
	clear(l.bytes)
	for t, k := 0, len(choice)/n; t < n; t++ {
		row := l.bytes[t*width:][:width]
		code := l.kept.entries.Pack(row[2:2], int(l.in.Pos[t]), choice[t*k:][:k])
		binary.LittleEndian.PutUint16(row, uint16(len(code)))
	}
	l.kv.PutBytes(layer, &l.in, kv.Picked, l.bytes)
}

// keepChoices adds to a sample the rows that it holds in pages and does not have yet, if they are wanted. That of the last token is not: nothing
// follows from it.
func (e *Engine) keepChoices(r *request) {
	end := min(r.seq.Len(), len(r.tokens)-1)
	if routes := r.sample.Experts; r.ask.Report.Experts {
		for pos := routes.Len(); pos < end; pos++ {
			for i := range routes.Layers {
				routes.Rows = append(routes.Rows, e.pages.ReadBytes(&r.seq, i, kv.Routed, pos)...)
			}
		}
	}
	if entries := r.sample.Entries; r.ask.Report.Entries {
		rows := make([][]byte, len(entries.Layers))
		for pos := entries.Len(); pos < end; pos++ {
			for i, layer := range entries.Layers {
				row := e.pages.ReadBytes(&r.seq, layer, kv.Picked, pos)
				rows[i] = row[2:][:binary.LittleEndian.Uint16(row)]
			}
			entries.Add(rows...)
		}
	}
}
