package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isYAML reports whether a file of --eval-config is YAML by its name, as launch lines of Miles name it.
func isYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

// yamlToJSON writes a YAML document as the JSON that says the same, so that one reader knows both. An object whose only key is eval is what is under it.
func yamlToJSON(text []byte) ([]byte, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, err
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	if m, ok := v.(map[string]any); ok && len(m) == 1 && m["eval"] != nil {
		v = m["eval"]
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("it says what JSON cannot: %w", err)
	}
	return out, nil
}
