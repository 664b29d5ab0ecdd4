// Package launchline knows the flags of the launch lines that people already have: those of Miles' launch script and trainer, of Megatron, and of
// the SGLang servers and routers that it starts. furlong train reads such a line as it stands.
//
// Each flag has a row: what follows it, what becomes of it, and why. A row is without effect, so in any case, checked against the model, refused,
// not built in (a dry run shows it, a run does not begin), or stands for other flags. A flag that is a setting of Furlong needs no row:
// [config.Set.Accept] passes over rows whose name is a setting, so a flag stops being without effect on the day it has one, and a test of the command
// names the row that can go.
//
// A line of the launch script leaves most of a run to the script's defaults. [Presume] tells from the flags whose line it is, and names the recipe
// that holds those defaults; [Variables] reads the environment that the script reads.
//
// Shapes: none.
// Units: as where the flags come from.
// Errors: none; what is wrong with a line is config's to say.
// Sources: the flags' names and defaults are those of the published programs; what is done about them is ours.
package launchline
