package bench

import (
	"embed"
	"fmt"
	"os"

	"furlong/dtype"
	"furlong/model/dsv4"
)

//go:embed models/tiny.json models/mid.json
var models embed.FS

// readModel returns the configuration of a name, or else of the file at that path.
func readModel(name string) (dsv4.Config, error) {
	data, err := models.ReadFile("models/" + name + ".json")
	if err != nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return dsv4.Config{}, fmt.Errorf("--model is %q, want tiny, mid, or the path of a config.json: %w", name, err)
	}
	cfg, err := dsv4.ReadConfig(data)
	if err != nil {
		return dsv4.Config{}, fmt.Errorf("--model %s: %w", name, err)
	}
	return cfg, nil
}

// formatOf returns the format of a --format.
func formatOf(name string) dtype.Type {
	if name == "bf16" {
		return dtype.BF16
	}
	return dtype.F32
}

// ModelInfo says which model was measured.
type ModelInfo struct {
	Name       string `json:"name"`
	Format     string `json:"format"` // of the matrices
	Parameters int    `json:"parameters"`
	Active     int    `json:"parameters_per_token"` // without the embedding
	Bytes      int    `json:"bytes"`
}
