package server

import (
	"strings"
	"testing"

	"furlong/checkpoint/hf"
)

// What was taken up and what was refused is counted where dashboards look.
func TestUpdatesAreCounted(t *testing.T) {
	u := serveWeights(t, "bf16", nil)
	dir := checkpointOf(t, u.root, "second", "bf16", 2, hf.Ref)
	u.done("/update_weights_from_disk", `{"model_path":"`+dir+`"}`)
	u.denied("/update_weights_from_disk", `{"model_path":"`+dir+`-not"}`, 400, "second-not")
	u.denied("/end_weight_update", `{}`, 400, "")
	_, raw := u.call("GET", "/metrics", "")
	for name, want := range map[string]string{"num_weight_updates_total": "2", "num_refused_weight_calls_total": "2"} {
		found := ""
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "sglang:"+name+"{") {
				found = line[strings.LastIndex(line, " ")+1:]
			}
		}
		if strings.TrimSpace(found) != want {
			t.Errorf("%s is %q, want %s", name, found, want)
		}
	}
}
