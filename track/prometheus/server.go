package prometheus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"furlong/door"
)

// Options say where scrapes are answered. The flags are Miles', but for the host: other machines are let in only if it says so.
type Options struct {
	Use     bool   `flag:"use-prometheus" help:"show the newest figures of the run at /metrics"`
	Port    int    `flag:"prometheus-port" help:"port of it; 0 takes a free one"`
	Host    string `flag:"prometheus-host" help:"address of it; 0.0.0.0 lets other machines in, who then can read every figure of the run"`
	RunName string `flag:"prometheus-run-name" help:"the label run of its figures; the run's directory if empty"`
}

// Default returns the options of a run that shows nothing.
func Default() Options { return Options{Port: 9090, Host: "127.0.0.1"} }

// Validate reports what is wrong with o.
func (o Options) Validate() error {
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("--prometheus-port is %d, want 0 to 65535", o.Port)
	}
	return nil
}

// A Server answers scrapes.
type Server struct {
	*Collector
	at   net.Addr
	http *http.Server
}

// Serve begins to answer scrapes of the run of that name.
func Serve(o Options, run string, log *slog.Logger) (*Server, error) {
	at, _, err := door.Listen(net.JoinHostPort(o.Host, strconv.Itoa(o.Port)), "", "")
	if err != nil {
		return nil, fmt.Errorf("--use-prometheus: %w; --prometheus-port names another port", err)
	}
	if o.RunName != "" {
		run = o.RunName
	}
	s := &Server{Collector: New(run), at: at.Addr()}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.Handler())
	s.http = door.HTTP(mux, log)
	go func() {
		if err := s.http.Serve(at); !errors.Is(err, http.ErrServerClosed) {
			log.Error("figures are shown no more", "error", err.Error())
		}
	}()
	return s, nil
}

// Address returns where the figures are.
func (s *Server) Address() string { return "http://" + s.at.String() + "/metrics" }

// Close ends it. A scrape under way has a second to finish, also where ctx has ended.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return s.http.Shutdown(ctx)
}
