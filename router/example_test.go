package router_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"furlong/router"
)

// A router in front of one worker, which comes by a call.
func Example() {
	worker := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) { io.WriteString(rw, req.URL.Path+" was here") }))
	defer worker.Close()

	r, err := router.New(router.Default(), slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- r.Serve(ctx, ln) }()

	for _, path := range []string{"/add_worker?url=" + worker.URL, "/generate"} {
		resp, err := http.Post("http://"+ln.Addr().String()+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, strings.ReplaceAll(string(body), worker.URL, "URL"))
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	fmt.Println(<-ended, r.Counts()["requests"])
	// Output:
	// 200 {"status":"success","worker_urls":{"URL":true}}
	// 200 /generate was here
	// <nil> 1
}
