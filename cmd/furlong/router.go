package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"furlong/config"
	"furlong/door"
	"furlong/router"
)

const routerPurpose = `Spreads requests over several servers of one policy: furlong serve, or SGLang. It has the calls of sglang-router and of its predecessors, so what talks to those talks to it; docs/router.md lists them. Workers are named by --worker-urls, or come and go by POST /workers and DELETE /workers/ID while it runs. Ctrl-C lets requests finish; a second one ends it at once.`

// routerFlags is everything that furlong router can be told.
type routerFlags struct {
	Router   router.Config
	PortFile string `flag:"port-file" help:"file that gets the address, http://HOST:PORT, once requests are answered"`
	Insecure bool   `flag:"insecure" help:"let other machines ask without a key"`
}

// Validate reports an address that other machines reach without a key.
func (f routerFlags) Validate() error {
	if f.Router.Open() && !f.Insecure {
		return fmt.Errorf("--host is %s, which other machines reach: want --api-key, or --insecure to let anybody ask", f.Router.Host)
	}
	return nil
}

func runRouter(ctx context.Context, e *env) int {
	f := routerFlags{Router: router.Default()}
	set := config.New("router", routerPurpose).Add("Flags", &f)
	set.Example("furlong router --worker-urls http://127.0.0.1:30001 http://127.0.0.1:30002", "two workers behind http://127.0.0.1:30000")
	set.Example("furlong router --host 0.0.0.0 --api-key K --admin-api-key A", "open to other hosts, which need keys; workers are registered later")
	if code, ok := e.parse(set); !ok {
		return code
	}
	return e.fail(e.route(ctx, f))
}

// route listens until ctx ends, which is how it is meant to end.
func (e *env) route(ctx context.Context, f routerFlags) error {
	r, err := router.New(f.Router, e.log)
	if err = errors.Join(err, forget(f.PortFile)); err != nil {
		return err
	}
	ln, scheme, err := door.Listen(net.JoinHostPort(f.Router.Host, strconv.Itoa(f.Router.Port)), f.Router.CertFile, f.Router.KeyFile)
	if err != nil {
		return err
	}
	if err := e.announce(scheme+"://"+ln.Addr().String(), f.PortFile); err != nil {
		return errors.Join(err, ln.Close())
	}
	err = r.Serve(ctx, ln)
	c := r.Counts()
	e.log.Info("router ended", "requests", c["requests"], "retried", c["retried"], "spilled", c["spilled"], "unserved", c["unserved"], "broken", c["broken"],
		"left", c["left"], "fan_failed", c["fan_failed"])
	return err
}
