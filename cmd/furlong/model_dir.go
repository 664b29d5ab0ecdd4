package main

import (
	"os"
	"path/filepath"
)

// modelInside is where a checkpoint of a run has its model, in the Hugging Face layout.
var modelInside = filepath.Join("trainer", "model")

// modelDir returns the directory of the model that a path names: the path, or where it is a checkpoint of a run the model inside.
func modelDir(path string) string {
	if path == "" || isFile(filepath.Join(path, "config.json")) {
		return path
	}
	if inside := filepath.Join(path, modelInside); isFile(filepath.Join(inside, "config.json")) {
		return inside
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
