package door_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"furlong/door"
)

// A door that shows nothing yet says so; one that was shut says nothing more.
func TestDoor(t *testing.T) {
	d, err := door.Open("127.0.0.1:0", "", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := door.Open(d.Addr().String(), "", "", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second door at one address: %v, want that it is in use", err)
	}
	get := func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Address()+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultClient.Do(req)
	}
	resp, err := get()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("before there is a server: %d %s, want 503 with Retry-After", resp.StatusCode, body)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := d.Shut(t.Context()); err != nil {
		t.Errorf("Shut: %v", err)
	}
	<-d.Ended()
	if resp, err := get(); err == nil {
		resp.Body.Close()
		t.Errorf("after it was shut: %d, want no connection", resp.StatusCode)
	}
}

func TestKeys(t *testing.T) {
	none, user, both := door.Keys{}, door.Keys{User: "u"}, door.Keys{User: "u", Admin: "a"}
	for _, tt := range []struct {
		keys        door.Keys
		header      string
		user, admin bool
	}{
		{none, "", true, true},
		{none, "Bearer None", true, true},
		{user, "", false, false},
		{user, "Bearer u", true, true},
		{user, "bearer  u ", true, true},
		{user, "u", false, false},
		{user, "Basic u", false, false},
		{user, "Bearer ", false, false},
		{both, "Bearer u", true, false},
		{both, "Bearer a", true, true},
		{both, "Bearer x", false, false},
		{door.Keys{Admin: "a"}, "", true, false},
		{door.Keys{Admin: "a"}, "Bearer a", true, true},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", tt.header)
		if got, admin := tt.keys.Allow(r, false), tt.keys.Allow(r, true); got != tt.user || admin != tt.admin {
			t.Errorf("%+v with %q: %v and %v, want %v and %v", tt.keys, tt.header, got, admin, tt.user, tt.admin)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3": true, "::1": true, "[::1]": true, "localhost": true, "LocalHost": true,
		"0.0.0.0": false, "::": false, "": false, "10.0.0.1": false, "localhost.example": false,
	} {
		if got := door.Loopback(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	if _, _, err := door.Listen("127.0.0.1:0", "no-such.pem", "no-such.pem"); err == nil || !strings.Contains(err.Error(), "no-such.pem") {
		t.Errorf("a certificate that is not there: %v, want an error that names it", err)
	}
}

// The zero Keys asks for nothing.
func Example() {
	r, _ := http.NewRequest(http.MethodGet, "/", nil)
	fmt.Println(door.Keys{}.Allow(r, true), door.Keys{User: "secret"}.Allow(r, false))
	// Output: true false
}
