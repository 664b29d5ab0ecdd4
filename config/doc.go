// Package config reads the settings of a command: an argparse-like reader driven by struct tags.
//
// Each package that can be configured has a Config struct, whose fields carry `flag:"..." help:"..."`, a Default and
// a Validate, and may have an Idle: which flags change nothing as it stands. A [Set] gathers pointers to such structs and reads four layers into them, the last winning: the values
// they hold when they are added (default), a recipe, a file named by --config, the command line. It remembers for
// each setting where its value came from. What is wrong is reported together, not one mistake at a time.
//
// The spelling is that of the training stacks whose launch lines people already have: --x v and --x=v; --x and --no-x
// for switches; several words up to the next flag; the last word on a flag counts, but lists tagged again:"adds" grow where
// they come again on one layer; --extra-args with a whole command line in one word, read last.
// Options of those stacks that have no setting here are rows of a table ([Option], [Set.Accept]): each says whether it does
// nothing, is already so, is a statement about the model to be checked, asks for what is missing, stands for other flags,
// or cannot be obeyed, and why. None, as Python prints it, is no value. Two names of one setting must agree within a layer.
// A caller may add layers between recipe and file ([Set.Below]) and choose the recipe by the command line ([Set.Presume]).
//
// Shapes: none.
// Units: a field tagged unit:"bytes" takes MB and MiB, one tagged unit:"count" takes k, M, G and Ki, Mi, Gi.
// Errors: values, joined, in the words of the flags; [ErrHelp] when help was asked for. A struct that cannot be
// registered (no help text, an unknown kind, one flag with two meanings) is a bug and panics.
// Sources: the conventions are those of Python's argparse, where it and this text agree.
package config
