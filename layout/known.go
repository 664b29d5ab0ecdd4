package layout

import (
	_ "embed" // published configurations
	"path/filepath"
	"strings"
)

//go:embed shapes/deepseek-v4-flash.json
var flashConfig []byte

// Known returns the published config.json of a model that one of names is the name of, or the path, and where it comes from; nil for a model that is not known.
func Known(names ...string) (config []byte, from string) {
	for _, n := range names {
		base := strings.ToLower(filepath.Base(n))
		if strings.HasPrefix(base, "deepseek-v4-flash") && !strings.Contains(base, "layer") {
			return flashConfig, "the published configuration of DeepSeek-V4 Flash, since --hf-checkpoint is not there"
		}
	}
	return nil, ""
}
