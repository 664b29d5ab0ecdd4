package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"furlong/config"
	"furlong/door"
	"furlong/rollout"
	"furlong/server"
)

// serveFlags is everything that furlong serve can be told.
type serveFlags struct {
	talk    talk
	what    servedFlags
	where   whereFlags
	server  server.Config
	rollout rollout.Config
	launch  launchFlags
}

// servedFlags say which model is served.
type servedFlags struct {
	Model      string `flag:"model-path,model,hf-checkpoint" help:"directory in the Hugging Face layout; without it, the model inside the binary"`
	Tokenizer  string `flag:"tokenizer-path" help:"directory of the tokenizer; without it, the model's, or bytes when it has none"`
	Name       string `flag:"served-model-name" help:"what requests call the model; without it, its path"`
	Format     string `flag:"dtype" choices:"auto bfloat16 bf16 float32 f32" help:"format of the weights; auto is bfloat16"`
	LoadFormat string `flag:"load-format" choices:"auto safetensors dummy" help:"dummy reads no weights and draws some, for trainers that send their own before the first request"`
	SkipTok    bool   `flag:"skip-tokenizer-init" help:"run without a tokenizer: prompts are ids, answers have no text"`
	Threads    int    `flag:"threads" help:"processor threads; 0 takes all"`
	Backend    string `flag:"backend" choices:"cpu ref" help:"what computes: the processor's vector units, or the plain reference"`
}

// whereFlags say where it is served, and until when.
type whereFlags struct {
	Host     string        `flag:"host" help:"address to listen on; one that other machines reach wants --api-key"`
	Port     int           `flag:"port" help:"port to listen on; 0 takes a free one"`
	PortFile string        `flag:"port-file" help:"file that gets the address, http://HOST:PORT, once requests are answered"`
	Cert     string        `flag:"ssl-certfile,tls-cert" help:"certificate, PEM; with --ssl-keyfile the server speaks TLS"`
	Key      string        `flag:"ssl-keyfile,tls-key" help:"its key, PEM"`
	Insecure bool          `flag:"insecure" help:"let other machines ask without a key"`
	Roots    []string      `flag:"weights-root" help:"folders that requests for weights may name files of; without it, the model's own"`
	Drain    time.Duration `flag:"drain-timeout" help:"how long samples in flight may go on after SIGTERM; then they are answered with what they have"`
}

// launchFlags are told by /server_info as they are given, for callers that compare them with what they computed. They change nothing else.
type launchFlags struct {
	TP          *int     `flag:"tp-size,tensor-parallel-size,tp" json:"tp_size,omitempty" help:"told by /server_info"`
	DP          *int     `flag:"dp-size,data-parallel-size,dp" json:"dp_size,omitempty" help:"told by /server_info"`
	PP          *int     `flag:"pp-size,pipeline-parallel-size,pp" json:"pp_size,omitempty" help:"told by /server_info"`
	EP          *int     `flag:"ep-size,expert-parallel-size,ep" json:"ep_size,omitempty" help:"told by /server_info"`
	Nodes       *int     `flag:"nnodes" json:"nnodes,omitempty" help:"told by /server_info"`
	NodeRank    *int     `flag:"node-rank" json:"node_rank,omitempty" help:"told by /server_info"`
	BaseGPU     *int     `flag:"base-gpu-id" json:"base_gpu_id,omitempty" help:"told by /server_info"`
	GPUStep     *int     `flag:"gpu-id-step" json:"gpu_id_step,omitempty" help:"told by /server_info"`
	MemFraction *float64 `flag:"mem-fraction-static" json:"mem_fraction_static,omitempty" help:"told by /server_info"`
	MemorySaver *bool    `flag:"enable-memory-saver" json:"enable_memory_saver,omitempty" help:"told by /server_info"`
	Determined  *bool    `flag:"enable-deterministic-inference" json:"enable_deterministic_inference,omitempty" help:"told by /server_info; it is always so"`
	TrustCode   *bool    `flag:"trust-remote-code" json:"trust_remote_code,omitempty" help:"told by /server_info; no code is read"`
	SkipWarmup  *bool    `flag:"skip-server-warmup" json:"skip_server_warmup,omitempty" help:"told by /server_info"`
	Facts       []string `flag:"server-info" json:"-" help:"further facts for /server_info, each KEY=JSON"`
}

func newServeFlags() *serveFlags {
	f := &serveFlags{
		what:    servedFlags{Format: "auto", LoadFormat: "auto", Backend: "cpu"},
		where:   whereFlags{Host: "127.0.0.1", Port: 30000, Drain: 30 * time.Second},
		server:  server.Default(),
		rollout: rollout.Default(),
	}
	f.rollout.Format = "" // the checkpoint's
	return f
}

// set returns what the command line is read with.
func (f *serveFlags) set() *config.Set {
	set := config.New("serve", "Serves a model over HTTP as SGLang does: /generate, control and weights for trainers and routers, and OpenAI's endpoints for everybody else.")
	set.Add("Model", &f.what).Add("Address", &f.where).Add("Server", &f.server).Add("Rollout engine", &f.rollout).Add("Launch facts", &f.launch)
	set.Add("Output", &f.talk).Add("Checks", &guarded{f})
	set.Example("furlong serve", "the model inside the binary, on http://127.0.0.1:30000")
	set.Example(`curl -d '{"text":"12+30=","sampling_params":{"temperature":0,"max_new_tokens":8}}' http://127.0.0.1:30000/generate`, "asks it something")
	set.Example("furlong serve --model-path /models/mine --host 0.0.0.0 --api-key SECRET", "a checkpoint, for other machines that know the key")
	set.Example("furlong serve --port 0 --port-file addr", "on a free port, whose address is written to a file")
	return set
}

// Validate reports what is wrong with f, in the words of the flags.
func (f servedFlags) Validate() error {
	var errs []error
	errs = append(errs, checkThreads(f.Threads))
	if f.SkipTok && f.Tokenizer != "" {
		errs = append(errs, errors.New("--tokenizer-path is there, want it without --skip-tokenizer-init"))
	}
	return errors.Join(errs...)
}

// Validate reports what is wrong with f, in the words of the flags.
func (f whereFlags) Validate() error {
	var errs []error
	if f.Port < 0 || f.Port > 65535 {
		errs = append(errs, fmt.Errorf("--port is %d, want 0 (any) to 65535", f.Port))
	}
	if (f.Cert == "") != (f.Key == "") {
		errs = append(errs, errors.New("--ssl-certfile and --ssl-keyfile go together, want both or none"))
	}
	if f.Drain < 0 {
		errs = append(errs, fmt.Errorf("--drain-timeout is %v, want 0 or more", f.Drain))
	}
	return errors.Join(errs...)
}

// guarded checks what the address and the keys are together.
type guarded struct{ f *serveFlags }

// Validate reports an address that other machines reach without a key.
func (g *guarded) Validate() error {
	if w := g.f.where; !door.Loopback(w.Host) && g.f.server.APIKey == "" && !w.Insecure {
		return fmt.Errorf("--host is %s, which other machines reach: want --api-key, or --insecure to let anybody ask", w.Host)
	}
	return nil
}

// Validate reports a fact that is none.
func (f launchFlags) Validate() error {
	_, err := f.facts()
	return err
}

// facts returns what was given, by the names that /server_info has for it.
func (f launchFlags) facts() (map[string]any, error) {
	out := map[string]any{}
	raw, err := json.Marshal(f)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, err
	}
	for k, v := range out {
		if n, ok := v.(float64); ok && n == float64(int64(n)) {
			out[k] = int64(n)
		}
	}
	for _, fact := range f.Facts {
		key, value, ok := strings.Cut(fact, "=")
		if !ok || !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("--server-info is %q, want KEY=JSON", fact)
		}
		out[key] = json.RawMessage(value)
	}
	return out, nil
}
