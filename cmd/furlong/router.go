package main

import (
	"context"
	"errors"
	"net"
	"strconv"

	"furlong/config"
	"furlong/router"
)

const routerPurpose = `Spreads requests over several servers of one policy: furlong serve, or SGLang. It has the calls of sglang-router and of its predecessors, so what talks to those talks to it; docs/router.md lists them. Workers are named by --worker-urls, or come and go by POST /workers and DELETE /workers/ID while it runs. Ctrl-C lets requests finish; a second one ends it at once.`

func runRouter(ctx context.Context, e *env) int {
	cfg := router.Default()
	set := config.New("router", routerPurpose).Add("Flags", &cfg)
	set.Example("furlong router --worker-urls http://127.0.0.1:30001 http://127.0.0.1:30002", "two workers behind http://127.0.0.1:30000")
	set.Example("furlong router --host 0.0.0.0 --api-key K --admin-api-key A", "open to other hosts, which need keys; workers are registered later")
	if code, ok := e.parse(set); !ok {
		return code
	}
	return e.fail(e.route(ctx, cfg))
}

// route listens until ctx ends. An interrupt is how it is meant to end.
func (e *env) route(ctx context.Context, cfg router.Config) error {
	r, err := router.New(cfg, e.log)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port)))
	if err != nil {
		return err
	}
	if cfg.Open() {
		e.log.Warn("other hosts can use this router without a key", "host", cfg.Host, "flag", "--api-key")
	}
	e.log.Info("router listens", "address", ln.Addr().String(), "workers", len(cfg.Workers))
	err = r.Serve(ctx, ln)
	c := r.Counts()
	e.log.Info("router ended", "requests", c["requests"], "retried", c["retried"], "spilled", c["spilled"], "unserved", c["unserved"], "broken", c["broken"])
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
