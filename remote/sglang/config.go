package sglang

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Config is what a remote engine can be told. The zero value is not usable; start from Default.
type Config struct {
	URLs         []string      `flag:"rollout-url" help:"servers that generate in place of the engine inside: http://host:port of furlong serve or SGLang, with spaces or commas between them"`
	KeyFile      string        `flag:"rollout-api-key-file" help:"file with what the servers of --rollout-url want to be shown (their --api-key)"`
	AdminKeyFile string        `flag:"rollout-admin-api-key-file" help:"file with what they want for weights, pauses and aborts, if that is another key"`
	Transport    string        `flag:"update-weight-transport" choices:"auto stream disk" help:"how servers of --rollout-url get weights: over the connection, through the folder --update-weight-dir, or auto: the first if a server knows it"`
	Dir          string        `flag:"update-weight-dir" help:"folder that this process writes and the servers of --rollout-url read; checkpoints of the last two versions stay in it"`
	Bucket       int           `flag:"rollout-bucket-bytes" unit:"bytes" help:"bytes of weights in one call of the stream"`
	Concurrency  int           `flag:"rollout-concurrency" help:"most samples that one server of --rollout-url has in hand"`
	Retries      int           `flag:"rollout-retries" help:"times that a sample is drawn anew when its server failed"`
	Wait         time.Duration `flag:"rollout-wait" help:"how long servers of --rollout-url may be away: at the beginning, or all of them later, as while one is restarted"`
}

// Default returns a Config without servers.
func Default() Config {
	return Config{Transport: "auto", Bucket: 512 << 20, Concurrency: 512, Retries: 10, Wait: 10 * time.Minute}
}

// Servers returns the addresses in URLs.
func (c Config) Servers() (all []string) {
	for _, s := range c.URLs {
		for one := range strings.SplitSeq(s, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, strings.TrimRight(one, "/"))
			}
		}
	}
	return all
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	known := map[string]bool{}
	for _, s := range c.Servers() {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
			bad("--rollout-url is %q, want http://host:port", s)
		}
		if known[s] {
			bad("--rollout-url names %s twice", s)
		}
		known[s] = true
	}
	if len(c.URLs) > 0 && len(known) == 0 {
		bad("--rollout-url is %q, want http://host:port", c.URLs)
	}
	if c.Bucket < 1 {
		bad("--rollout-bucket-bytes is %d, want at least 1", c.Bucket)
	}
	if c.Concurrency < 1 {
		bad("--rollout-concurrency is %d, want at least 1", c.Concurrency)
	}
	if c.Retries < 0 {
		bad("--rollout-retries is %d, want 0 or more", c.Retries)
	}
	if c.Wait <= 0 {
		bad("--rollout-wait is %v, want more than 0", c.Wait)
	}
	if c.Transport == disk && c.Dir == "" {
		bad("--update-weight-transport is disk, want --update-weight-dir with it: which folder?")
	}
	return errors.Join(errs...)
}

// Transports.
const (
	auto   = "auto"
	stream = "stream"
	disk   = "disk"
)
