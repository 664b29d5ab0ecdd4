package dsv4

import "slices"

// ReadConfig reads a config.json in any of the spellings in use: that of transformers 5, that of the released checkpoints, and that
// of the program released beside them. What a file says twice must agree, what nothing reads is an error, and what the model does in
// one way only must not be asked for in another. The result is valid. All problems are reported at once.
func ReadConfig(data []byte) (Config, error) {
	values, err := parseConfig(data)
	if err != nil {
		return Config{}, err
	}
	r := newConfigReader(values)
	c := r.config()
	r.checkFixed()
	r.refuseUnread()
	if err := r.join(); err != nil {
		return Config{}, err
	}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// config reads every key, the layers first: they say which of the others are needed.
func (r *configReader) config() Config {
	c := Config{InitRange: 0.02, BOS: 0, EOS: 1} // where absent: none of them changes what the model computes
	r.readLayers(&c)
	r.readRates(&c)
	for _, k := range c.integerKeys() {
		read(r, k.at, k.need, anInteger, integer, k.names...)
	}
	for _, k := range c.numberKeys() {
		read(r, k.at, k.need, aNumber, number, k.names...)
	}
	c.LimitShared = c.Limit
	read(r, &c.LimitShared, false, aNumber, number, "swiglu_limit_shared")
	read(r, &c.BOS, false, aToken, token, "bos_token_id")
	read(r, &c.EOS, false, aToken, token, "eos_token_id")
	r.readRopeDim(&c)
	c.Yarn = r.yarn()
	return c
}

// Has tells whether any layer is of kind k.
func (c Config) Has(k AttentionKind) bool {
	return slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.Attention == k })
}

// compressed tells whether any layer has compressed entries.
func (c *Config) compressed() bool { return c.Has(C4) || c.Has(C128) }
