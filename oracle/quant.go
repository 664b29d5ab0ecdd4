package oracle

import (
	"errors"
	"path/filepath"

	"furlong/checkpoint/safetensors"
	"furlong/quant"
)

// codecs holds the quantised number formats to quant.safetensors, byte for byte.
func codecs(v *vectors, rep *Report) (err error) {
	f, err := safetensors.Open(filepath.Join(v.dir, "quant.safetensors"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	checks, err := quant.Verify(f.Tensor)
	if err != nil {
		return err
	}
	for _, c := range checks {
		rep.mustEqual("quantised bytes", c.Wrong, c.Name)
	}
	return nil
}
