package router

import (
	"errors"
	"fmt"
	"time"

	"furlong/door"
)

// Config is what a router can be told. The zero value is not usable; start from Default.
type Config struct {
	Host      string   `flag:"host" help:"address to listen on; other hosts reach only what is not loopback"`
	Port      int      `flag:"port" help:"port to listen on; 0 for any that is free"`
	Workers   []string `flag:"worker-urls" help:"workers from the start: http://host:port each"`
	APIKey    string   `flag:"api-key" help:"what clients must show, as Authorization: Bearer; passed on to workers that have no key of their own"`
	AdminKey  string   `flag:"admin-api-key" help:"what changes of workers, and calls that concern all of them, must show instead"`
	WorkerKey string   `flag:"worker-api-key" help:"shown to workers that came without a key of their own"`
	CertFile  string   `flag:"ssl-certfile" help:"TLS certificate chain, PEM"`
	KeyFile   string   `flag:"ssl-keyfile" help:"TLS private key, PEM"`
	MaxBody   int64    `flag:"max-payload-size" unit:"bytes" help:"longest request body; it is kept until the answer begins"`
	Retries   int      `flag:"retry-max-retries" help:"times that one request is given to a worker again, before its answer has begun"`

	Health        string        `flag:"health-check-endpoint" help:"path of a worker that tells its health"`
	Every         time.Duration `flag:"health-check-interval-secs" help:"time between two looks at a worker"`
	Patience      time.Duration `flag:"health-check-timeout-secs" help:"longest time for one look"`
	FailAfter     int           `flag:"health-failure-threshold" help:"failures in a row after which a worker gets no more requests"`
	PassAfter     int           `flag:"health-success-threshold" help:"successes in a row after which it gets requests again"`
	StartupWithin time.Duration `flag:"worker-startup-timeout-secs" help:"how long /add_worker waits for a new worker's health"`
}

// Default returns a router without workers on this machine alone.
func Default() Config {
	return Config{
		Host: "127.0.0.1", Port: 30000, MaxBody: 256 << 20, Retries: 5, Health: "/health", Every: 10 * time.Second,
		Patience: 5 * time.Second, FailAfter: 3, PassAfter: 2, StartupWithin: 600 * time.Second,
	}
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Port < 0 || c.Port > 65535 {
		bad("--port is %d, want 0 to 65535", c.Port)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		bad("--ssl-certfile and --ssl-keyfile go together")
	}
	if c.MaxBody < 1 {
		bad("--max-payload-size is %d, want at least 1", c.MaxBody)
	}
	if c.Retries < 0 {
		bad("--retry-max-retries is %d, want 0 or more", c.Retries)
	}
	if c.Health == "" || c.Health[0] != '/' {
		bad("--health-check-endpoint is %q, want a path", c.Health)
	}
	for _, u := range c.Workers {
		if _, err := parseURL(u); err != nil {
			bad("--worker-urls: %w", err)
		}
	}
	return errors.Join(append(errs, c.checkHealth())...)
}

func (c Config) checkHealth() error {
	var errs []error
	for _, f := range []struct {
		flag string
		v    time.Duration
	}{{"health-check-interval-secs", c.Every}, {"health-check-timeout-secs", c.Patience}, {"worker-startup-timeout-secs", c.StartupWithin}} {
		if f.v <= 0 {
			errs = append(errs, fmt.Errorf("--%s is %v, want more than 0", f.flag, f.v))
		}
	}
	for _, f := range []struct {
		flag string
		v    int
	}{{"health-failure-threshold", c.FailAfter}, {"health-success-threshold", c.PassAfter}} {
		if f.v < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d, want at least 1", f.flag, f.v))
		}
	}
	return errors.Join(errs...)
}

// Open reports whether other hosts can reach the router and none of them needs a key.
func (c Config) Open() bool { return !door.Loopback(c.Host) && c.APIKey == "" }
