package starter

import (
	_ "embed" // the model

	"furlong/checkpoint/safetensors"
)

// Config is the model's config.json.
//
//go:embed config.json
var Config []byte

//go:embed model.safetensors
var weights []byte

// Weights opens the model's tensors, in BF16.
func Weights() (*safetensors.File, error) { return safetensors.Parse("built-in model", weights) }
