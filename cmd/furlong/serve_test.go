package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serveHere runs furlong serve in this process and returns its address. end asks it to end, and returns its exit code.
func serveHere(t *testing.T, flags ...string) (address string, end func() int) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	file := filepath.Join(t.TempDir(), "port")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	args := append([]string{"serve", "--port", "0", "--port-file", file, "--max-running-requests", "4", "--context-length", "512"}, flags...)
	go func() { ended <- dispatch(ctx, newEnv(args, null, null, null)) }()
	for until := time.Now().Add(60 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if raw, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(raw)), func() int { cancel(); return <-ended }
		}
	}
	cancel()
	t.Fatalf("no address within 60 s, exit code %d", <-ended)
	return "", nil
}

func ask(t *testing.T, c *http.Client, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// Who is being answered when the end comes gets the whole answer; health says no meanwhile.
func TestServeEndsInOrder(t *testing.T) {
	at, end := serveHere(t)
	done := make(chan string, 1)
	go func() {
		_, body := ask(t, http.DefaultClient, "POST", at+"/generate", `{"text":"1+1=","sampling_params":{"max_new_tokens":400,"ignore_eos":true}}`)
		done <- body
	}()
	for running := false; !running; {
		_, body := ask(t, http.DefaultClient, "GET", at+"/v1/loads", "")
		running = strings.Contains(body, `"num_running_reqs":1`)
	}
	code := make(chan int, 1)
	go func() { code <- end() }()
	for health := 200; health == 200; {
		health, _ = ask(t, http.DefaultClient, "GET", at+"/health", "")
	}
	var got struct {
		Meta struct {
			Tokens int `json:"completion_tokens"`
		} `json:"meta_info"`
	}
	if body := <-done; json.Unmarshal([]byte(body), &got) != nil || got.Meta.Tokens != 400 {
		t.Errorf("in flight at the end: %.300s, want 400 tokens", body)
	}
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d, want %d", c, exitOK)
	}
	http.DefaultClient.CloseIdleConnections()
}

// Samples that a pause holds are answered with what they have.
func TestServeEndsInAPause(t *testing.T) {
	at, end := serveHere(t, "--drain-timeout", "50ms")
	ask(t, http.DefaultClient, "POST", at+"/pause_generation", `{"mode":"in_place"}`)
	done := make(chan string, 1)
	go func() {
		_, body := ask(t, http.DefaultClient, "POST", at+"/generate", `{"text":"1+1="}`)
		done <- body
	}()
	for waiting := false; !waiting; {
		_, body := ask(t, http.DefaultClient, "GET", at+"/v1/loads", "")
		waiting = strings.Contains(body, `"num_waiting_reqs":1`)
	}
	if c := end(); c != exitOK {
		t.Errorf("exit code %d, want %d", c, exitOK)
	}
	if body := <-done; !strings.Contains(body, `"type":"abort"`) {
		t.Errorf("held by the pause: %s, want an abort", body)
	}
}

func TestServeTellsItsLaunch(t *testing.T) {
	at, end := serveHere(t, "--tp-size", "4", "--base-gpu-id", "3", "--mem-fraction-static", "0.8", "--server-info", `dtype="bfloat16"`, `odd=[1,null]`,
		"--served-model-name", "mine", "--enable-memory-saver", "--api-key", "k")
	defer end()
	client := &http.Client{Transport: bearing{"k"}}
	code, body := ask(t, client, "GET", at+"/server_info", "")
	for _, want := range []string{`"tp_size":4,`, `"base_gpu_id":3,`, `"mem_fraction_static":0.8,`, `"dtype":"bfloat16"`, `"odd":[1,null]`, `"served_model_name":"mine"`, `"enable_memory_saver":true`, `"host":"127.0.0.1"`} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("/server_info: %d %s, want %s in it", code, body, want)
		}
	}
	if code, _ := ask(t, http.DefaultClient, "GET", at+"/server_info", ""); code != 401 {
		t.Errorf("without key: %d, want 401", code)
	}
}

// bearing adds a key to requests.
type bearing struct{ key string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

func TestServeSpeaksTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	at, end := serveHere(t, "--ssl-certfile", cert, "--ssl-keyfile", key)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	if !strings.HasPrefix(at, "https://") {
		t.Errorf("address is %s, want https", at)
	}
	if code, _ := ask(t, client, "GET", at+"/ping", ""); code != 200 {
		t.Errorf("ping: %d", code)
	}
	client.CloseIdleConnections()
	if c := end(); c != exitOK {
		t.Errorf("exit code %d", c)
	}
}

// certificate writes a certificate of 127.0.0.1 and its key.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: raw}, key: {Type: "PRIVATE KEY", Bytes: rawKey}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	return cert, key, pool
}
