package transformers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Hello says what a Process has loaded, and with what.
type Hello struct {
	Versions        map[string]string `json:"versions"`      // of python, torch, transformers, safetensors
	ConfigSHA256    string            `json:"config_sha256"` // of the bytes of config.json
	Dtype           string            `json:"dtype"`
	Threads         int               `json:"threads"`
	Vocab           int               `json:"vocab"`
	Hidden          int               `json:"hidden"`
	Layers          int               `json:"layers"`
	Streams         int               `json:"streams"`
	Heads           int               `json:"heads"`
	HeadDim         int               `json:"head_dim"`
	Experts         int               `json:"experts"`
	ExpertsPerToken int               `json:"experts_per_token"`
	MaxPositions    int               `json:"max_positions"` // longest sequence that it takes
}

// Scores is what a Process says of one sequence: an element for every token but the first.
type Scores struct {
	LogProbs []float64 `json:"logprobs"` // of the tokens that are there, at the temperature asked for
	Top      []int32   `json:"top"`      // the likeliest token at that place
	Entropy  []float64 `json:"entropy"`  // of that place's distribution, at the temperature asked for
}

// A question is a line to the side-car. What an op does not need is left out.
type question struct {
	Op          string    `json:"op"`
	Dir         string    `json:"dir,omitempty"`
	Dtype       string    `json:"dtype,omitempty"`
	Threads     int       `json:"threads,omitempty"`
	Sequences   [][]int32 `json:"sequences,omitempty"`
	Temperature float64   `json:"temperature,omitempty"`
	IDs         []int32   `json:"ids,omitempty"`
	Only        []string  `json:"only,omitempty"`
	Path        string    `json:"path,omitempty"`
}

// A reply is a line from it: a refusal, or what was asked for.
type reply struct {
	Error   *string  `json:"error"`
	Missing []string `json:"missing"` // libraries that the interpreter does not have
	Scores  []Scores `json:"scores"`
	Hello
}

var errLong = errors.New("answer is too long")

// readLine returns the next line, without its end, if it is no longer than most bytes.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most+1 {
			return nil, fmt.Errorf("%w: more than %d bytes", errLong, most)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// parse reads a line of the side-car. Refusals are errors in its own words.
func parse(line []byte, python string) (*reply, error) {
	r := &reply{}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, &nonsense{fmt.Errorf("answered what is not its protocol: %.80q: %w", line, err)}
	}
	if len(r.Missing) > 0 {
		return nil, fmt.Errorf("%s has no %s; give it what is needed with: %s", python, strings.Join(r.Missing, ", no "), Install(python))
	}
	if r.Error != nil {
		return nil, errors.New(*r.Error)
	}
	return r, nil
}

// nonsense is the error of an answer after which nothing more is believed.
type nonsense struct{ error }

func (n *nonsense) Unwrap() error { return n.error }
