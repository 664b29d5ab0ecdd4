package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"furlong/config"
	"furlong/dash"
	"furlong/dash/api"
	"furlong/dash/store"
	"furlong/door"
	rundir "furlong/metrics/run"
)

const dashPurpose = `Shows runs as pages: is it alive, does it learn, do the engines agree, and from any point on a chart to the samples and tokens behind it. It reads run directories, living, finished or crashed, and writes nothing. furlong train serves the same page of its own run while it goes.`

// dashFlags is everything that furlong dash can be told.
type dashFlags struct {
	Address  string   `flag:"dash-addr" help:"where pages are, HOST:PORT; a port that is taken gives way to the next free one"`
	Hosts    []string `flag:"dash-host" help:"names besides localhost that browsers may call this server by, as behind a proxy"`
	PortFile string   `flag:"port-file" help:"file that gets the address, http://HOST:PORT, once pages are answered"`
	Baseline []string `flag:"baseline" help:"lines of reference for pass@k, NAME=SHARE as base=0.39: what a model reached that the run is held against"`
	Reindex  bool     `flag:"reindex" help:"first make the index of samples again from their bodies: in the run or, if that can't be written, in the user's cache folder"`
	Runs     []string `arg:"[RUN]" help:"directories of runs, or directories that hold them; without any, runs, or this one"`
}

// Validate reports an address and lines of reference that are none.
func (f dashFlags) Validate() error {
	_, err := baselines(f.Baseline)
	return errors.Join(checkDashAddress(f.Address), err)
}

func checkDashAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("--dash-addr is %q, want HOST:PORT as %s", address, dash.DefaultAddress)
	}
	return nil
}

// dashMemory is what the process tries to stay within. Columns and bodies have bounds of their own below it.
const dashMemory = 150 << 20

func runDash(ctx context.Context, e *env) int {
	f := dashFlags{Address: dash.DefaultAddress}
	var quiet talk
	set := config.New("dash", dashPurpose).Add("Flags", &f, &quiet)
	set.Example("furlong dash", "every run below runs/")
	set.Example("furlong dash runs/a runs/b", "two runs, side by side under Compare")
	set.Example("furlong dash --baseline base=0.39 paper=0.52 -- runs/a", "pass@k held against two others")
	set.Example("furlong dash --dash-addr 0.0.0.0:7878", "for other machines too: the address that is printed holds a token")
	if code, ok := e.parse(set); !ok {
		return code
	}
	debug.SetMemoryLimit(dashMemory)
	return e.fail(e.dash(ctx, f))
}

// dash serves pages until ctx ends, which is how it is meant to end.
func (e *env) dash(ctx context.Context, f dashFlags) error {
	dirs, err := runDirs(f.Runs)
	if err != nil {
		return err
	}
	lines, err := baselines(f.Baseline)
	if err != nil {
		return err
	}
	shelf, err := newShelf(dirs, lines...)
	if err != nil {
		return err
	}
	defer shelf.Close()
	if f.Reindex {
		if err := e.reindex(dirs); err != nil {
			return err
		}
	}
	if err := forget(f.PortFile); err != nil {
		return err
	}
	p, err := newPages(shelf, f.Address, f.Hosts, e.log)
	if err != nil {
		return err
	}
	if err := e.announce(p.url, f.PortFile); err != nil {
		return errors.Join(err, p.at.Close())
	}
	read := make(chan struct{})
	go func() { defer close(read); shelf.Warm() }()
	err = p.server.Run(ctx, p.at)
	<-read
	return err
}

// runDirs returns the directories to look at.
func runDirs(named []string) ([]string, error) {
	if len(named) == 0 {
		if _, err := os.Stat("runs"); err == nil {
			return []string{"runs"}, nil
		}
		return []string{"."}, nil
	}
	for _, d := range named {
		info, err := os.Stat(d)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is a file, want the directory of a run or of runs", d)
		}
	}
	return named, nil
}

// storeOptions say who reads runs here.
func storeOptions() (store.Options, error) {
	self, err := rundir.Self()
	o := store.Options{Now: time.Now, Self: self}
	if cache, none := os.UserCacheDir(); none == nil {
		o.Cache = filepath.Join(cache, "furlong")
	}
	return o, err
}

func newShelf(dirs []string, lines ...api.Baseline) (*store.Shelf, error) {
	o, err := storeOptions()
	if err != nil {
		return nil, err
	}
	o.Baselines = lines
	return store.NewShelf(dirs, o), nil
}

// reindex makes the indexes of the runs anew.
func (e *env) reindex(dirs []string) error {
	o, err := storeOptions()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if !rundir.Holds(dir) {
			return fmt.Errorf("--reindex: %s holds no run; name the runs", dir)
		}
		r, err := store.Open(dir, filepath.Base(dir), o)
		if err != nil {
			return err
		}
		rep, at, err := r.Reindex(e.log)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
		e.log.Info("index made", "run", dir, "index", at, "rows", rep.Rows, "bodies", rep.Bodies, "lost", len(rep.Lost))
	}
	return nil
}

// pages is a server with its place.
type pages struct {
	server *dash.Server
	at     net.Listener
	url    string // that opens them in a browser
}

// newPages takes an address. One that other machines reach is for those only who have the token in the address that is printed.
func newPages(shelf *store.Shelf, address string, hosts []string, log *slog.Logger) (*pages, error) {
	at, err := dash.Listen(address)
	if err != nil {
		return nil, err
	}
	o := dash.Options{Shelf: shelf, Log: log, Hosts: hosts}
	p := &pages{at: at, url: "http://" + at.Addr().String()}
	host, port, err := net.SplitHostPort(at.Addr().String())
	if err != nil {
		return nil, errors.Join(err, at.Close())
	}
	if !door.Loopback(host) {
		o.Token = rand.Text()
		name, err := os.Hostname()
		if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
			host = name
		}
		o.Hosts = append(o.Hosts, host)
		p.url = "http://" + net.JoinHostPort(host, port) + "/#token=" + o.Token
	}
	p.server = dash.New(o)
	return p, nil
}
