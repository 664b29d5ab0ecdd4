package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A worker is killed with requests in hand: each of them is answered all the same, by the other one and as it would have answered alone.
func TestRouterOutlivesAWorker(t *testing.T) {
	unlessShort(t)
	model := tiny(t)
	a, b := serving(t, model, t.TempDir()), serving(t, model, t.TempDir())
	r := hosts(t, "router", "--worker-urls", a.url, b.url)
	wait(t, "two healthy workers", func() bool { return strings.Count(inquire(t, r.url, 0), `"is_healthy":true`) == 2 })

	const n, half = 200, 20
	var answered atomic.Int64
	killed := sync.OnceFunc(func() { _ = a.Process.Kill() })
	got := make([]string, n)
	var all sync.WaitGroup
	slots := make(chan bool, 16)
	for i := range n {
		slots <- true
		all.Go(func() {
			got[i] = inquire(t, r.url, i+1)
			if answered.Add(1) == half {
				killed()
			}
			<-slots
		})
	}
	all.Wait()
	for i := range n {
		if want := inquire(t, b.url, i+1); got[i] != want || want == "" {
			t.Errorf("request %d: %q, want %q", i, got[i], want)
		}
	}
	if list := inquire(t, r.url, 0); strings.Count(list, `"is_healthy":true`) != 1 {
		t.Errorf("workers are %s, want one healthy", list)
	}
}

// inquire draws a text with a seed, or for 0 lists a router's workers. What depends on the clock or the cache is left out.
func inquire(t *testing.T, url string, seed int) string {
	t.Helper()
	var resp *http.Response
	var err error
	if seed == 0 {
		resp, err = http.Get(url + "/workers")
	} else {
		body := fmt.Sprintf(`{"text":"1+2=","rid":"r%d","sampling_params":{"max_new_tokens":24,"ignore_eos":true,"sampling_seed":%d}}`, seed, seed)
		resp, err = http.Post(url+"/generate", "application/json", strings.NewReader(body))
	}
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s %v", resp.StatusCode, text, err)
	}
	answer, _, _ := strings.Cut(string(text), `,"meta_info"`)
	return answer
}
