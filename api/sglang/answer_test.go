package sglang

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTriples(t *testing.T) {
	text := "a\"b"
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	for _, tt := range []struct {
		in   Triples
		want string
	}{
		{nil, "null"},
		{Triples{}, "[]"},
		{Triples{{LogProb: -0.5, Token: 801}}, "[[-0.5,801,null]]"},
		{Triples{{LogProb: -0.51, Token: 1, Text: &text}, {LogProb: 0, Token: 2}}, `[[-0.5099999904632568,1,"a\"b"],[0,2,null]]`},
		{Triples{{LogProb: inf, Token: 3}, {LogProb: nan, Token: 4}}, "[[null,3,null],[null,4,null]]"},
		{Triples{{LogProb: float32(math.Copysign(0, -1)), Token: 3}}, "[[0,3,null]]"},
	} {
		if got, err := json.Marshal(tt.in); err != nil || string(got) != tt.want {
			t.Errorf("%v is written as %s (%v), want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestTriplesKeepTheirBits(t *testing.T) {
	for i := range uint32(2000) {
		v := math.Float32frombits(0x80000000 | i*1_000_003)
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || v == 0 {
			continue
		}
		raw, _ := json.Marshal(Triples{{LogProb: v, Token: int32(i)}})
		var got Triples
		if err := json.Unmarshal(raw, &got); err != nil || math.Float32bits(got[0].LogProb) != math.Float32bits(v) {
			t.Fatalf("%v became %s and then %v (%v)", v, raw, got, err)
		}
	}
}

func TestTriplesReadPairsAndNull(t *testing.T) {
	var got Triples
	if err := json.Unmarshal([]byte(`[[-1.5,7],[null,8,"x"]]`), &got); err != nil {
		t.Fatal(err)
	}
	if got[0].LogProb != -1.5 || got[0].Token != 7 || !math.IsNaN(float64(got[1].LogProb)) || *got[1].Text != "x" {
		t.Errorf("got %+v", got)
	}
	if err := json.Unmarshal([]byte(`[[1]]`), &got); err == nil {
		t.Error("a list of one member was read, want an error")
	}
}

func TestFinishBothWays(t *testing.T) {
	token, text := int32(257), "."
	for _, tt := range []struct {
		in   Finish
		want string
	}{
		{Finish{Type: FinishStop, Token: &token}, `{"matched":257,"type":"stop"}`},
		{Finish{Type: FinishStop, Matched: &text}, `{"matched":".","type":"stop"}`},
		{Finish{Type: FinishLength, Length: 5}, `{"length":5,"type":"length"}`},
		{Finish{Type: FinishAbort, Message: "Aborted"}, `{"err_type":null,"message":"Aborted","status_code":null,"type":"abort"}`},
		{Finish{Type: FinishAbort, Message: "full", Status: 503, Kind: "x"}, `{"err_type":"x","message":"full","status_code":503,"type":"abort"}`},
	} {
		raw, err := json.Marshal(tt.in)
		if err != nil || string(raw) != tt.want {
			t.Errorf("%+v is written as %s (%v), want %s", tt.in, raw, err, tt.want)
		}
		var back Finish
		if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, tt.in) {
			t.Errorf("%s is read as %+v (%v), want %+v", raw, back, err, tt.in)
		}
	}
}

func TestAnswerLeavesOut(t *testing.T) {
	raw, err := json.Marshal(Answer{OutputIDs: []int32{1}, Meta: Meta{ID: "x", InputLogProbs: Triples{}, InputTop: []Triples{nil, {}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"output_ids":[1],"meta_info":{"id":"x","finish_reason":null,"prompt_tokens":0,"completion_tokens":0,"cached_tokens":0,"reasoning_tokens":0,` +
		`"weight_version":"","num_retractions":0,"input_token_logprobs":[],"input_top_logprobs":[null,[]]}}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func TestComplaint(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"error":{"message":"a"}}`, "a"},
		{`{"error":"Unauthorized"}`, "Unauthorized"},
		{`{"object":"error","message":"b","type":"503","param":null,"code":503}`, "b"},
		{`{"success":false,"message":"c"}`, "c"},
		{`{"success":false,"error_message":"d"}`, "d"},
		{"Internal Server Error\n", "Internal Server Error"},
		{`{"x":1}`, `{"x":1}`},
	} {
		if got := Complaint([]byte(tt.body)); got != tt.want {
			t.Errorf("Complaint(%s) = %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestWorker(t *testing.T) {
	for in, want := range map[string]string{
		"http://a:1@3": "http://a:1", "http://a:1/": "http://a:1", "http://a:1": "http://a:1", "http://[::1]:7@0": "http://[::1]:7", "http://u@a:1": "http://a:1",
	} {
		if got := Worker(in); got != want {
			t.Errorf("Worker(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestServerInfoIsReadLeniently(t *testing.T) {
	var s ServerInfo
	if err := json.Unmarshal([]byte(`{"tp_size":"2","dp_size":3,"version":null,"weight_version":"5","max_running_requests":1.5}`), &s); err != nil {
		t.Fatal(err)
	}
	if s.TPSize != 0 || s.DPSize != 3 || s.WeightVersion != "5" || s.MaxRunningRequests != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	in := ": hello\n\nevent: e\ndata: {\"a\":1}\n\ndata:[2]\r\n\r\ndata: \"" + long + "\"\n\n" + Done + "data: after\n\n"
	f := NewFrames(iotest.OneByteReader(strings.NewReader(in)), 1<<20)
	for _, want := range []string{`{"a":1}`, `[2]`, `"` + long + `"`} {
		got, err := f.Next()
		if err != nil || string(got) != want {
			t.Fatalf("got %.40s (%v), want %.40s", got, err, want)
		}
	}
	for range 2 {
		if _, err := f.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the end: %v, want EOF", err)
		}
	}
}

func TestFramesThatEndBadly(t *testing.T) {
	if _, err := NewFrames(strings.NewReader("data: 1"), 100).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("broken off: %v, want an unexpected EOF", err)
	}
	if _, err := NewFrames(strings.NewReader("data: "+strings.Repeat("x", 100)+"\n"), 50).Next(); err == nil || !strings.Contains(err.Error(), "more than 50 bytes") {
		t.Errorf("too long: %v", err)
	}
}

func FuzzFinish(f *testing.F) {
	f.Add([]byte(`{"type":"stop","matched":"NaN happened"}`))
	f.Add([]byte(`{"type":"abort","message":null,"status_code":503.5}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r, again Finish
		if json.Unmarshal(raw, &r) != nil {
			return
		}
		once, _ := json.Marshal(r)
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%s became %s: %v", raw, once, err)
		}
		if twice, _ := json.Marshal(again); string(once) != string(twice) {
			t.Fatalf("%s became %s and then %s", raw, once, twice)
		}
	})
}

func Example() {
	var g Generate
	err := Decode([]byte(`{"text":"2+2=","sampling_params":{"temperature":0,"max_new_tokens":4}}`), &g)
	fmt.Println(g.Text.At(0), *g.Params.At(0).Temperature, err)
	err = Decode([]byte(`{"text":"2+2=","sampling_params":{"temprature":0}}`), &g)
	fmt.Println(err)
	// Output:
	// 2+2= 0 <nil>
	// sampling_params has the key "temprature", which is no sampling parameter; did you mean "temperature"
}
