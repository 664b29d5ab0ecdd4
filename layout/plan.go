package layout

import (
	"fmt"
)

// actorNodes returns the machines that train.
func (c Config) actorNodes() int {
	switch {
	case c.ActorNodes > 0:
		return c.ActorNodes
	case c.Nodes > 0:
		return max(1, c.Nodes-c.RolloutNodes)
	}
	return 1
}

// machines returns the machines of the job.
func (c Config) machines() int { return max(c.Nodes, c.actorNodes()+c.rolloutNodes()) }

// rolloutNodes returns the machines that only generate.
func (c Config) rolloutNodes() int {
	if c.RolloutNodes > 0 || c.RolloutGPUs == 0 || c.PerNode == 0 || c.Colocate {
		return c.RolloutNodes
	}
	return (c.RolloutGPUs + c.PerNode - 1) / c.PerNode
}

// perActor returns the training devices of a machine, 0 for its processor.
func (c Config) perActor() int {
	if c.ActorPerNode > 0 {
		return c.ActorPerNode
	}
	return c.PerNode
}

// world returns the ranks that train; a processor is one.
func (c Config) world() int { return c.actorNodes() * max(1, c.perActor()) }

// shares reports whether the devices that train also generate.
func (c Config) shares() bool { return c.Colocate || c.RolloutNodes == 0 && c.RolloutGPUs == 0 }

// rolloutDevices returns the ranks that generate; a processor is one.
func (c Config) rolloutDevices() int {
	switch {
	case c.RolloutGPUs > 0:
		return c.RolloutGPUs
	case c.shares():
		return c.world()
	}
	return c.RolloutNodes * max(1, c.PerNode)
}

func (c Config) engineTensor() int {
	if c.EngineTensor == 0 {
		return c.PerEngine
	}
	return c.EngineTensor
}

// Devices returns the devices that the job takes; 0 where processors compute.
func (c Config) Devices() int {
	switch {
	case c.PerNode == 0 && c.ActorPerNode == 0 && c.RolloutGPUs == 0:
		return 0
	case c.shares():
		return max(c.world(), c.rolloutDevices())
	}
	return c.world() + c.rolloutDevices()
}

// A Plan is a layout with everything that follows from it.
type Plan struct {
	Machines        int     `json:"machines"`
	Devices         int     `json:"devices"` // 0: the processor of one machine
	TrainMachines   int     `json:"train_machines"`
	TrainDevices    int     `json:"train_devices"` // of all machines; 1 for a processor
	RolloutMachines int     `json:"rollout_machines"`
	RolloutDevices  int     `json:"rollout_devices"`
	Shared          bool    `json:"shared"` // the same devices train and generate
	Tensor          int     `json:"tensor_parallel"`
	Pipeline        int     `json:"pipeline_parallel"`
	Context         int     `json:"context_parallel"`
	Data            int     `json:"data_parallel"`
	Expert          int     `json:"expert_parallel"`
	ExpertTensor    int     `json:"expert_tensor_parallel"`
	ExpertData      int     `json:"expert_data_parallel"`
	Stages          []Stage `json:"stages"`
	Engines         int     `json:"engines"`
	PerEngine       int     `json:"devices_per_engine"`
	EngineTensor    int     `json:"engine_tensor_parallel"`
	EngineExpert    int     `json:"engine_expert_parallel"`

	offload float64 // part of the optimizer state that is in the machine's memory
	memory  int64
}

// A Stage is a run of layers.
type Stage struct {
	First  int   `json:"first_layer"`
	Layers int   `json:"layers"`
	Ranks  []int `json:"ranks"` // the first and the last
}

// Plan returns the ranks and stages of a model with so many layers. c must be valid.
func (c Config) Plan(layers int) (Plan, error) {
	world := c.world()
	p := Plan{
		Machines: c.machines(), Devices: c.Devices(), TrainMachines: c.actorNodes(), TrainDevices: world, RolloutMachines: c.rolloutNodes(),
		RolloutDevices: c.rolloutDevices(), Shared: c.shares(),
		Tensor: c.Tensor, Pipeline: c.Pipeline, Context: c.Context, Data: world / (c.Tensor * c.Context * c.Pipeline),
		Expert: c.Expert, ExpertTensor: c.ExpertTensor, ExpertData: world / (c.ExpertTensor * c.Expert * c.Pipeline),
		Engines: c.rolloutDevices() / c.PerEngine, PerEngine: c.PerEngine, EngineTensor: c.engineTensor(), EngineExpert: c.EngineExpert,
		memory: c.Memory,
	}
	if c.Offload {
		p.offload = c.Share
	}
	if p.Shared {
		p.RolloutMachines = p.TrainMachines
	}
	split, err := c.split(layers)
	if err != nil {
		return Plan{}, err
	}
	at, each := 0, world/c.Pipeline
	for i, n := range split {
		p.Stages = append(p.Stages, Stage{First: at, Layers: n, Ranks: []int{i * each, (i+1)*each - 1}})
		at += n
	}
	return p, nil
}

// split cuts layers into stages: the first and the last as they are told, the others alike.
func (c Config) split(layers int) ([]int, error) {
	rest, middle := layers-c.First-c.Last, c.Pipeline
	if c.First > 0 {
		middle--
	}
	if c.Last > 0 {
		middle--
	}
	if middle == 0 && rest != 0 || middle > 0 && (rest < middle || rest%middle != 0) {
		return nil, fmt.Errorf("%d layers in %d stages, with --decoder-first-pipeline-num-layers %d and --decoder-last-pipeline-num-layers %d: the %d between do not divide evenly by %d",
			layers, c.Pipeline, c.First, c.Last, rest, middle)
	}
	out := make([]int, c.Pipeline)
	for i := range out {
		switch {
		case i == 0 && c.First > 0:
			out[i] = c.First
		case i == c.Pipeline-1 && c.Last > 0:
			out[i] = c.Last
		default:
			out[i] = rest / middle
		}
	}
	return out, nil
}
