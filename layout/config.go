package layout

import (
	"errors"
	"fmt"
)

// Config is what a launch line says about machines, devices and how work is cut. The zero value computes on the processor of one machine.
type Config struct {
	Nodes        int  `flag:"num-nodes" help:"machines of the job; 0 for as many as the others say"`
	ActorNodes   int  `flag:"actor-num-nodes" help:"machines that train; 0 for those that --rollout-num-nodes leaves"`
	RolloutNodes int  `flag:"rollout-num-nodes" help:"machines that generate; 0 where those that train do both"`
	PerNode      int  `flag:"num-gpus-per-node" help:"devices of a machine; 0 for none: its processor computes"`
	ActorPerNode int  `flag:"actor-num-gpus-per-node" help:"of these, those that train; 0 for all"`
	RolloutGPUs  int  `flag:"rollout-num-gpus" help:"devices that generate; 0 for those of --rollout-num-nodes"`
	PerEngine    int  `flag:"rollout-num-gpus-per-engine" help:"devices of a rollout engine"`
	Colocate     bool `flag:"colocate" help:"generate and train on the same devices, in turn"`

	Tensor       int `flag:"tensor-model-parallel-size" help:"ranks that share each matrix product"`
	Pipeline     int `flag:"pipeline-model-parallel-size" help:"stages into which the layers are cut"`
	First        int `flag:"decoder-first-pipeline-num-layers" help:"layers of the first stage; 0 for its even share"`
	Last         int `flag:"decoder-last-pipeline-num-layers" help:"layers of the last stage; 0 for its even share"`
	Context      int `flag:"context-parallel-size" help:"ranks that share each sequence"`
	Expert       int `flag:"expert-model-parallel-size" help:"ranks that share the experts of a layer"`
	ExpertTensor int `flag:"expert-tensor-parallel-size" help:"ranks that share each expert"`

	EngineTensor int `flag:"sglang-tp-size,sglang-tensor-parallel-size,sglang-tp" help:"ranks that share each matrix product of a rollout engine; 0 for its devices"`
	EngineData   int `flag:"sglang-dp-size,sglang-data-parallel-size,sglang-dp" help:"copies of attention in a rollout engine"`
	EngineExpert int `flag:"sglang-ep-size,sglang-expert-parallel-size,sglang-ep" help:"ranks that share the experts of a rollout engine"`

	Memory  int64   `flag:"gpu-memory" unit:"bytes" help:"memory of a device, against which a dry run holds its estimate; 0 for not"`
	Offload bool    `flag:"optimizer-offload,optimizer-cpu-offload" help:"keep optimizer state in the machine's memory"`
	Share   float64 `flag:"optimizer-offload-fraction" help:"the part of it that is kept there"`
}

// Default returns one process on the processor of one machine.
func Default() Config {
	return Config{PerEngine: 1, Tensor: 1, Pipeline: 1, Context: 1, Expert: 1, ExpertTensor: 1, EngineData: 1, EngineExpert: 1, Share: 1}
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	errs := c.negative()
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if n := c.actorNodes() + c.RolloutNodes; c.Nodes > 0 && c.ActorNodes > 0 && c.Nodes != n {
		bad("--num-nodes is %d, want --actor-num-nodes %d plus --rollout-num-nodes %d: %d", c.Nodes, c.ActorNodes, c.RolloutNodes, n)
	}
	if c.Nodes > 0 && c.ActorNodes == 0 && c.RolloutNodes >= c.Nodes {
		bad("--rollout-num-nodes is %d of --num-nodes %d, want fewer: none is left to train", c.RolloutNodes, c.Nodes)
	}
	if c.Colocate && c.RolloutNodes > 0 {
		bad("--colocate and --rollout-num-nodes %d contradict each other: machines of its own, or the same", c.RolloutNodes)
	}
	if c.ActorPerNode > c.PerNode && c.PerNode > 0 {
		bad("--actor-num-gpus-per-node is %d, want at most --num-gpus-per-node (%d)", c.ActorPerNode, c.PerNode)
	}
	if !(c.Share >= 0 && c.Share <= 1) {
		bad("--optimizer-offload-fraction is %v, want 0 to 1", c.Share)
	}
	return errors.Join(append(errs, c.checkRanks()...)...)
}

// negative reports counts that are none.
func (c Config) negative() []error {
	var errs []error
	for _, n := range []struct {
		flag         string
		value, least int
	}{
		{"num-nodes", c.Nodes, 0},
		{"actor-num-nodes", c.ActorNodes, 0},
		{"rollout-num-nodes", c.RolloutNodes, 0},
		{"num-gpus-per-node", c.PerNode, 0},
		{"actor-num-gpus-per-node", c.ActorPerNode, 0},
		{"rollout-num-gpus", c.RolloutGPUs, 0},
		{"rollout-num-gpus-per-engine", c.PerEngine, 1},
		{"tensor-model-parallel-size", c.Tensor, 1},
		{"pipeline-model-parallel-size", c.Pipeline, 1},
		{"decoder-first-pipeline-num-layers", c.First, 0},
		{"decoder-last-pipeline-num-layers", c.Last, 0},
		{"context-parallel-size", c.Context, 1},
		{"expert-model-parallel-size", c.Expert, 1},
		{"expert-tensor-parallel-size", c.ExpertTensor, 1},
		{"sglang-tp-size", c.EngineTensor, 0},
		{"sglang-dp-size", c.EngineData, 1},
		{"sglang-ep-size", c.EngineExpert, 1},
	} {
		if n.value < n.least || n.value > 1<<20 {
			errs = append(errs, fmt.Errorf("--%s is %d, want at least %d", n.flag, n.value, n.least))
		}
	}
	if c.Memory < 0 {
		errs = append(errs, fmt.Errorf("--gpu-memory is %d, want 0 or more", c.Memory))
	}
	return errs
}

// checkRanks reports devices that the ranks do not divide.
func (c Config) checkRanks() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	world := c.world()
	if n := c.Tensor * c.Context * c.Pipeline; world%n != 0 {
		bad("%s, want a multiple of %d: --tensor-model-parallel-size %d times --context-parallel-size %d times --pipeline-model-parallel-size %d",
			c.trains(), n, c.Tensor, c.Context, c.Pipeline)
	}
	if n := c.ExpertTensor * c.Expert * c.Pipeline; world%n != 0 {
		bad("%s, want a multiple of %d: --expert-tensor-parallel-size %d times --expert-model-parallel-size %d times --pipeline-model-parallel-size %d",
			c.trains(), n, c.ExpertTensor, c.Expert, c.Pipeline)
	}
	if c.Pipeline == 1 && c.First+c.Last > 0 {
		bad("--decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers cut stages, want --pipeline-model-parallel-size above 1")
	}
	if n := c.rolloutDevices(); n%c.PerEngine != 0 {
		bad("%d devices generate, want a multiple of --rollout-num-gpus-per-engine (%d)", n, c.PerEngine)
	}
	if c.PerEngine%c.engineTensor() != 0 || c.PerEngine%c.EngineExpert != 0 {
		bad("--rollout-num-gpus-per-engine is %d, want a multiple of --sglang-tp-size (%d) and of --sglang-ep-size (%d)", c.PerEngine, c.engineTensor(), c.EngineExpert)
	}
	return errs
}

// trains says how many devices train.
func (c Config) trains() string {
	if c.Devices() == 0 {
		return "one processor trains (--num-gpus-per-node is 0)"
	}
	return fmt.Sprintf("%d devices train", c.world())
}
