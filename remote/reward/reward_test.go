package reward

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furlong/reward"
	"furlong/rl"
)

// TestMain is also the program that judges: its argument says how it behaves.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "judge" {
		judge(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// judge answers each line with a reward: 1 where the response is the label.
func judge(how string) {
	if how == "sleeps" {
		time.Sleep(time.Hour)
	}
	in := bufio.NewScanner(os.Stdin)
	for n := 0; in.Scan(); n++ {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			os.Exit(3)
		}
		right := 0
		if q.Response == q.Label {
			right = 1
		}
		switch {
		case how == "hangs" && q.Response == "hang":
			time.Sleep(time.Hour)
		case how == "breeds":
			child := exec.Command(os.Args[0], "judge", "sleeps") // which holds our standard output open
			child.Stdout = os.Stdout
			_ = child.Run()
		case how == "dies" && n == 1:
			os.Exit(1)
		case how == "talks":
			fmt.Println("well")
		default:
			fmt.Printf("{\"score\":%d,\"n\":%d}\n", right, n)
		}
	}
}

// TestChildrenEndWithProgram kills a judge at its deadline that waits for a program of its own, which would hold the answer's pipe open.
func TestChildrenEndWithProgram(t *testing.T) {
	p := program(t, "breeds")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.Reward(ctx, sample("1", "1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline's", err)
	}
}

// sample returns one response.
func sample(text, label string) *rl.Sample {
	return &rl.Sample{Prompt: &rl.Prompt{ID: "p", Text: "question", Label: label, Metadata: []byte(`{"a":1}`)}, Text: text, Stop: rl.StopToken}
}

func program(t *testing.T, how string) *Program {
	t.Helper()
	p, err := NewProgram(os.Args[0]+" judge "+how, "score")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestProgram(t *testing.T) {
	p := program(t, "well")
	for i, tt := range []struct {
		text string
		want rl.Verdict
	}{{"1", rl.Right}, {"2", rl.Wrong}, {"line\nbreak", rl.Wrong}} {
		s := sample(tt.text, "1")
		if err := p.Reward(t.Context(), s); err != nil || s.Verdict != tt.want || (s.Reward == 1) != (tt.want == rl.Right) {
			t.Errorf("sample %d: %v, %v, %v", i, err, s.Verdict, s.Why)
		}
	}
	if len(p.idle) != 1 {
		t.Errorf("%d processes wait, want the one that judged all", len(p.idle))
	}
}

// One that hangs is ended at the deadline, one that dies is started anew; the samples after it are judged.
func TestProgramFails(t *testing.T) {
	p := program(t, "hangs")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := p.Reward(ctx, sample("hang", "1")); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("one that hangs: %v", err)
	}
	if s := sample("1", "1"); p.Reward(t.Context(), s) != nil || s.Verdict != rl.Right {
		t.Errorf("after one that hung: %v", s.Why)
	}
	p = program(t, "dies")
	errs := 0
	for range 6 {
		if err := p.Reward(t.Context(), sample("1", "1")); err != nil {
			errs++
			if !strings.Contains(err.Error(), "ended without an answer") && !strings.Contains(err.Error(), "broken pipe") {
				t.Errorf("one that dies: %v", err)
			}
		}
	}
	if errs != 3 {
		t.Errorf("%d of 6 failed, want every second", errs)
	}
	if err := program(t, "talks").Reward(t.Context(), sample("1", "1")); err == nil || !strings.Contains(err.Error(), "want a number or an object") {
		t.Errorf("one that talks: %v", err)
	}
	if _, err := NewProgram("/nowhere/judge", ""); err == nil || !strings.Contains(err.Error(), "--custom-rm-command") {
		t.Errorf("no such program: %v", err)
	}
	p = program(t, "well")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Reward(t.Context(), sample("1", "1")); err == nil {
		t.Error("a closed judge judges")
	}
}

func TestServer(t *testing.T) {
	status, answer := http.StatusOK, ""
	var got question
	var key string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization")
		_ = json.NewDecoder(r.Body).Decode(&got)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	judge, err := NewServer(server.URL+"/score", file, "score")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status int
		answer string
		reward float64
		want   rl.Verdict
		err    string
	}{
		{200, "1", 1, rl.Right, ""},
		{200, " 0.25\n", 0.25, rl.Wrong, ""},
		{200, "-1", -1, rl.Wrong, ""},
		{200, "true", 1, rl.Right, ""},
		{200, "false", 0, rl.Wrong, ""},
		{200, `{"score":1.5,"why":"x"}`, 1.5, rl.Right, ""},
		{201, "[0.5]", 0.5, rl.Wrong, ""},
		{200, `[{"score":1}]`, 1, rl.Right, ""},
		{200, `{"reward":1}`, 0, rl.Ungraded, "has no score"},
		{200, "null", 0, rl.Ungraded, "want a number"},
		{200, "", 0, rl.Ungraded, "answer is empty"},
		{200, "NaN", 0, rl.Ungraded, "want a number"},
		{200, "1e999", 0, rl.Ungraded, "want a number"},
		{200, "[1,2]", 0, rl.Ungraded, "want one reward"},
		{200, "[[1]]", 0, rl.Ungraded, "want one reward"},
		{200, `{"score":{"score":1}}`, 0, rl.Ungraded, "want a number"},
		{200, `"1"`, 0, rl.Ungraded, "want a number"},
		{500, "out of memory", 0, rl.Ungraded, `status 500, want 200: "out of memory"`},
		{404, "", 0, rl.Ungraded, "status 404"},
		{200, strings.Repeat(" ", longestAnswer+1), 0, rl.Ungraded, "longer than"},
	} {
		status, answer = tt.status, tt.answer
		s := sample("response", "label")
		err := judge.Reward(t.Context(), s)
		if s.Reward != tt.reward || s.Verdict != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%d %.40s: %v, %v, %v, want %v, %v, %s", tt.status, tt.answer, s.Reward, s.Verdict, err, tt.reward, tt.want, tt.err)
		}
	}
	if got.Prompt != "question" || got.Response != "response" || got.Label != "label" || string(got.Metadata) != `{"a":1}` || key != "Bearer secret" {
		t.Errorf("asked %+v with %q", got, key)
	}
}

func TestServerIsAway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	judge, err := NewServer(server.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	pool := reward.NewPool(judge, reward.Default())
	s := sample("a", "b")
	if err := pool.Reward(t.Context(), s); err == nil || s.Verdict != rl.Invalid || !strings.Contains(s.Why, "connect") {
		t.Errorf("Reward = %v, %v: %s", err, s.Verdict, s.Why)
	}
	for _, address := range []string{"", "host:80", "ftp://host", "http://"} {
		if _, err := NewServer(address, "", ""); err == nil || !strings.Contains(err.Error(), "--rm-url") {
			t.Errorf("address %q: %v", address, err)
		}
	}
	if _, err := NewServer("http://h", filepath.Join(t.TempDir(), "no"), ""); err == nil || !strings.Contains(err.Error(), "--rm-api-key-file") {
		t.Errorf("no key file: %v", err)
	}
}

// Named in --rm-type with weights, beside a grader of ours; and by a prompt's metadata.
func TestTogether(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "0.5") }))
	defer server.Close()
	c := reward.Default()
	c.Type, c.URL, c.Command, c.RewardKey = "furlong:0.8,remote_rm:0.2,command:2", server.URL, os.Args[0]+" judge well", "score"
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	outside, err := New(c.Outside)
	if err != nil {
		t.Fatal(err)
	}
	defer outside[reward.CommandName].(*Program).Close()
	r, err := reward.NewWith(c, outside)
	if err != nil {
		t.Fatal(err)
	}
	s := sample(`\boxed{1}`, "1")
	if err := reward.NewPool(r, c).Reward(t.Context(), s); err != nil || s.Verdict != rl.Right || s.Reward != 0.8+0.2*0.5+2*0 {
		t.Errorf("%v, %v, %v: %s", err, s.Verdict, s.Reward, s.Why)
	}
	if err := reward.Check(t.Context(), r, []*rl.Prompt{{Label: "1"}}); err != nil {
		t.Errorf("Check = %v: it asks nobody outside", err)
	}
	server.Close()
	if err := reward.NewPool(r, c).Reward(t.Context(), s); err == nil || s.Verdict != rl.Invalid || s.Reward != 0 {
		t.Errorf("one of three is away: %v, %v, %v", err, s.Verdict, s.Reward)
	}
	c.Type = ""
	if r, err = reward.NewWith(c, outside); err != nil {
		t.Fatal(err)
	}
	s = &rl.Sample{Prompt: &rl.Prompt{Label: "x", Metadata: []byte(`{"rm_type":"command"}`)}, Text: "x"}
	if err := r.Reward(t.Context(), s); err != nil || s.Verdict != rl.Right {
		t.Errorf("by metadata: %v, %v: %s", err, s.Verdict, s.Why)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, a := range []string{"1", "0.5", "[1]", `{"score":1}`, "true", "null", `{"score":[1]}`} {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		s := sample("a", "b")
		if err := settle(s, answer, "score"); (err == nil) != (s.Verdict == rl.Right || s.Verdict == rl.Wrong) || s.Reward != s.Reward {
			t.Fatalf("%q: %v, %v, %v", answer, s.Reward, s.Verdict, err)
		}
	})
}
