package server

import (
	"errors"
	"fmt"
	"time"
)

// Config is what a server can be told. The zero value is not usable; start from Default.
type Config struct {
	APIKey         string        `flag:"api-key" help:"key that requests must bear (Authorization: Bearer KEY), except for health and metrics; without it, none is asked for"`
	AdminKey       string        `flag:"admin-api-key" help:"key for all that changes weights, memory or what runs; without it, --api-key is enough"`
	MaxBody        int64         `flag:"max-body-size" unit:"bytes" help:"longest body of a request"`
	BodyTime       time.Duration `flag:"body-timeout" help:"how long a client may take to send a body"`
	WriteTime      time.Duration `flag:"write-timeout" help:"how long a client may take to read a part of an answer, once it is there; how long one is made is not limited"`
	HealthTime     time.Duration `flag:"health-timeout" help:"how old a sign of life may be before /health says no, and how long /health_generate waits for a token"`
	WaitTime       time.Duration `flag:"waiting-timeout" help:"how long a request may take to its first token, else it is answered 503; 0 for any time"`
	RunTime        time.Duration `flag:"running-timeout" help:"how long a request may take altogether, else it is aborted and answered with what it has; 0 for any time"`
	StreamEvery    int           `flag:"stream-interval" help:"tokens from one frame of a stream to the next"`
	Incremental    bool          `flag:"incremental-streaming-output" help:"frames of /generate hold what is new, instead of all so far"`
	Seed           uint64        `flag:"random-seed" help:"seed of requests that bring none; each gets another"`
	Metrics        bool          `flag:"enable-metrics" help:"serve /metrics"`
	LogRequests    bool          `flag:"log-requests" help:"log a line for each request that ends"`
	ProfileDir     string        `flag:"profile-dir" help:"folder for the profiles of /start_profile; without it there are none"`
	Preferred      string        `flag:"preferred-sampling-params" help:"sampling parameters, as JSON, for what requests of /generate leave out"`
	WeightsHosts   []string      `flag:"weights-host" help:"machines, as HOST or HOST:PORT, that requests may name to fetch weights from; this machine is always one"`
	StrictSessions bool          `flag:"strict-weight-sessions,strict-weight-updates" help:"take weights between /begin_weight_update and /end_weight_update only, and no tensor that the model has no place for; else a call without session is one, and such tensors are counted"`
	CacheReport    bool          `flag:"enable-cache-report" help:"tell in the usage of OpenAI endpoints how many prompt tokens were found in the prefix cache"`
}

// Default returns the settings of a server for one machine.
func Default() Config {
	return Config{
		MaxBody: 256 << 20, BodyTime: 2 * time.Minute, WriteTime: 5 * time.Minute, HealthTime: 20 * time.Second,
		StreamEvery: 1, Seed: 42, Metrics: true,
	}
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.MaxBody < 1 {
		bad("--max-body-size is %d, want at least 1", c.MaxBody)
	}
	if c.StreamEvery < 1 {
		bad("--stream-interval is %d, want at least 1", c.StreamEvery)
	}
	for _, d := range []struct {
		flag         string
		value, least time.Duration
	}{
		{"body-timeout", c.BodyTime, time.Millisecond},
		{"write-timeout", c.WriteTime, time.Millisecond},
		{"health-timeout", c.HealthTime, time.Millisecond},
		{"waiting-timeout", c.WaitTime, 0},
		{"running-timeout", c.RunTime, 0},
	} {
		if d.value < d.least {
			bad("--%s is %v, want at least %v", d.flag, d.value, d.least)
		}
	}
	if _, err := c.preferred(); err != nil {
		bad("--preferred-sampling-params %w", err)
	}
	if c.AdminKey != "" && c.AdminKey == c.APIKey {
		bad("--admin-api-key is the same as --api-key, want another or none")
	}
	return errors.Join(errs...)
}
