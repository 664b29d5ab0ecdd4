package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"

	"furlong/dash"
)

// pageFlags say where a run shows itself while it goes.
type pageFlags struct {
	On      bool   `flag:"dash" help:"serve a page of this run while it goes"`
	Address string `flag:"dash-addr" help:"where the page of this run is, HOST:PORT; a port that is taken gives way to the next free one"`
}

// Validate reports an address that is none.
func (f pageFlags) Validate() error { return checkDashAddress(f.Address) }

func defaultPage() pageFlags { return pageFlags{On: true, Address: dash.DefaultAddress} }

// showPage serves the page of the run until the function that it returns is called. Nothing that goes wrong here ends or holds up the run: it is a line in the log.
func (j *job) showPage(ctx context.Context) (stop func()) {
	none := func() {}
	if !j.f.page.On {
		return none
	}
	shelf, err := newShelf([]string{j.dir.Path()})
	if err != nil {
		j.log.Warn("no page of this run", "error", err)
		return none
	}
	p, err := newPages(shelf, j.f.page.Address, nil, j.log)
	if err != nil {
		j.log.Warn("no page of this run", "error", err)
		return none
	}
	fmt.Fprintf(j.stderr, "furlong %s: page on %s\n", j.name, runAddress(p.url, j.dir.Path()))
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				j.log.Error("page failed, the run goes on without", "panic", r, "stack", string(debug.Stack()))
			}
		}()
		if err := p.server.Run(ctx, p.at); err != nil {
			j.log.Warn("page ended, the run goes on without", "error", err)
		}
	}()
	return func() {
		cancel()
		<-done
		_ = shelf.Close() // it was only read
	}
}

// runAddress puts the path of a run into the address of a server, before its token.
func runAddress(server, dir string) string {
	at, token, _ := strings.Cut(server, "/#")
	whole, err := filepath.Abs(dir)
	if err != nil {
		whole = dir
	}
	out := at + "/r/" + url.PathEscape(filepath.Base(whole)) + "/"
	if token != "" {
		out += "#" + token
	}
	return out
}
