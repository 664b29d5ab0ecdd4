package rollout

import (
	"testing"

	"furlong/config"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model/dsv4"
)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.MaxRunning, c.PageTokens = 0, 0 }, "--sglang-max-running-requests is 0, want at least 1\n--sglang-page-size is 0, want at least 1"},
		{func(c *Config) { c.Context = 1 }, "--context-length is 1, want at least 2"},
		{func(c *Config) { c.PrefillTokens = -1 }, "--sglang-chunked-prefill-size is -1, want at least 1"},
		{func(c *Config) { c.TotalTokens, c.RecentTokens = -1, -2 }, "--sglang-max-total-tokens is -1, want at least 0\n--rollout-recent-tokens is -2, want at least 0"},
		{func(c *Config) { c.RecentTokens = 4 }, "--rollout-recent-tokens is 4, want at least 32: windows reach 6 tokens back"},
	} {
		c := Default()
		tt.change(&c)
		got := ""
		if _, err := New(c, dsv4.New(small(), dtype.F32), ref.New[float32]()); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("New(%+v): %q, want %q", c, got, tt.want)
		}
	}
}

// By default all running samples can be as long as the context, and have twice the recent pages that they can need.
func TestDefaultPages(t *testing.T) {
	l := kv.NewLayout(dsv4.New(small(), dtype.F32).Layers(), 16)
	recents, lastings, err := Default().pages(l)
	if recents != 2*(64*2+32) || lastings != 64*4096/16 || err != nil {
		t.Errorf("pages are %d and %d (%v), want %d and %d", recents, lastings, err, 2*(64*2+32), 64*4096/16)
	}
}

func TestFlags(t *testing.T) {
	c := Default()
	set := config.New("serve", "").Add("rollout", &c)
	err := set.Parse([]string{"--max-running-requests", "48", "--sglang-max-total-tokens=524288", "--context-length", "16384", "--disable-radix-cache"})
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxRunning != 48 || c.TotalTokens != 524288 || c.Context != 16384 || !c.NoSharing || c.PrefillTokens != 512 {
		t.Errorf("settings are %+v", c)
	}
}
