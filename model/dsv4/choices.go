package dsv4

// Hashed reports whether a layer sends tokens to experts by a table of their ids, so that nothing else can move the choice.
func (m *Model) Hashed(layer int) bool { return m.cfg.Layers[layer].Router == Hash }

// Indexed returns the layers whose indexer chooses among compressed entries, the tokens that an entry stands for, and how many entries a token reads
// at most.
func (m *Model) Indexed() (layers []int, rate, most int) {
	for i, l := range m.cfg.Layers {
		if l.Attention == C4 {
			layers = append(layers, i)
		}
	}
	return layers, m.cfg.RateC4, m.cfg.IndexTopK
}
