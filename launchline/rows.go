package launchline

import (
	"slices"
	"strings"

	"furlong/config"
)

// Options returns a row for every flag of published launch lines that is no setting.
func Options() []config.Option {
	return slices.Concat(
		section("launch script", script),
		section("Miles", miles),
		section("Megatron", megatron),
		section("model", architecture),
		section("SGLang server", servers),
		section("SGLang router", routers),
	)
}

// section names where rows come from.
func section(name string, rows []config.Option) []config.Option {
	out := slices.Clone(rows)
	for i := range out {
		out[i].Section = name
	}
	return out
}

// rows makes rows of one kind and one reason. A name may be followed by = and the default that the flag has where it comes from; a flag that asks
// for what is missing or refused asks for nothing where it repeats that.
func rows(kind config.Kind, takes config.Takes, why, names string) []config.Option {
	var out []config.Option
	for _, n := range strings.Fields(names) {
		name, value, _ := strings.Cut(n, "=")
		o := config.Option{Name: name, Takes: takes, Kind: kind, Default: value, Why: why}
		if value != "" && (kind == config.Missing || kind == config.Refused) {
			o.Only = []string{value}
		}
		out = append(out, o)
	}
	return out
}

func idle(takes config.Takes, why, names string) []config.Option {
	return rows(config.Idle, takes, why, names)
}

func missing(takes config.Takes, why, names string) []config.Option {
	return rows(config.Missing, takes, why, names)
}

func refused(takes config.Takes, why, names string) []config.Option {
	return rows(config.Refused, takes, why, names)
}

// secret is a flag whose value belongs in no command line, and is told in no message.
func secret(why, name string) []config.Option {
	return []config.Option{{Name: name, Takes: config.One, Kind: config.Refused, Why: why, Secret: true}}
}

func stated(takes config.Takes, names string) []config.Option {
	return rows(config.Stated, takes, inModel, names)
}

// held is a flag that asks for what is always so: any value but those of only is an error.
func held(name, why string, only ...string) []config.Option {
	return []config.Option{{Name: name, Takes: config.One, Kind: config.Held, Only: only, Why: why}}
}

// heldSwitches are switches that ask for what is always so, and whose --no- form cannot be obeyed.
func heldSwitches(why, names string) []config.Option {
	out := rows(config.Held, config.Switch, why, names)
	for i := range out {
		out[i].Only = []string{"true"}
	}
	return out
}

// expands is a flag that stands for others.
func expands(name string, takes config.Takes, why string, senses ...config.Sense) []config.Option {
	return []config.Option{{Name: name, Takes: takes, Kind: config.Expands, Why: why, Senses: senses}}
}

// Reasons that several rows share.
const (
	noPython   = "it names Python code, and none runs here"
	noGPU      = "it tunes a GPU engine and changes no number; the rollout engine here runs on the processor"
	noMegatron = "it tunes a GPU trainer and changes no number; the trainer here runs on the processor"
	oneProcess = "rollout and training share one process, or --rollout-url names servers that run by themselves, which are watched and given weights again in any case: there is none to start"
	inModel    = "it describes the model, which its checkpoint already does"
	theBlock   = "the DeepSeek-V4 block has it so"
	noRay      = "no Ray is needed: nothing is started on other machines"
	noLoRA     = "there are no adapters: every weight is trained"
	noDraft    = "no tokens are drafted"
	textOnly   = "models here read and write text alone"
)
