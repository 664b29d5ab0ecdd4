package figure

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
)

// A Colour is a colour by its meaning. The zero value paints nothing.
type Colour string

// The colours: what they mean is the same on every figure of a run.
const (
	Blue   Colour = "blue"   // rollout and reward
	Orange Colour = "orange" // train and the 99th percentile
	Teal   Colour = "teal"   // mean and update
	Purple Colour = "purple" // held-out
	Olive  Colour = "olive"  // truncation in training, and graders
	Slate  Colour = "slate"  // limits and fits
	Idle   Colour = "idle"   // waiting
	Ink    Colour = "ink"    // text
	Grey   Colour = "grey"   // text beside it
	Grid   Colour = "grid"   // lines behind the marks
	Panel  Colour = "panel"  // behind everything
	Warn   Colour = "warn"   // what is missing or odd
)

// Heats are the steps of the ramp for amounts, from least to most.
var Heats = []Colour{"heat0", "heat1", "heat2", "heat3", "heat4", "heat5", "heat6"}

// A shade is a colour in light and in dark.
type shade struct{ light, dark uint32 }

var palette = map[Colour]shade{
	Blue: {0x0158D9, 0x3A80FF}, Orange: {0xC97522, 0xFA9737}, Teal: {0x09A39D, 0x95F5D2}, Purple: {0xA31685, 0xC93AA2}, Olive: {0x685400, 0x857200},
	Slate: {0x323232, 0xA4B1C2}, Idle: {0xC9CED6, 0x4A5563}, Ink: {0x1B1F24, 0xE8ECF1}, Grey: {0x5A636E, 0xA3ADB9}, Grid: {0xE4E7EB, 0x26303A}, Panel: {0xFFFFFF, 0x12171D}, Warn: {0x8A4B00, 0xFFC071},
	Heats[0]: {0xF3F5F8, 0x1A222B}, Heats[1]: {0xD3E0EE, 0x1F3A55}, Heats[2]: {0xA8C4DF, 0x235785}, Heats[3]: {0x74A3CB, 0x2E77B4}, Heats[4]: {0x3F7FB3, 0x549AD6}, Heats[5]: {0x1A5A91, 0x8ABFEC}, Heats[6]: {0x0B3763, 0xC4E2FA},
}

// series are the colours of curves that mean nothing by themselves, in the order in which they are given out.
var series = []Colour{Blue, Orange, Teal, Purple, Olive, Slate}

// Nth returns colour and dash of the nth of several curves of a kind: each pair once.
func Nth(n int) (Colour, Dash) {
	return series[n%len(series)], []Dash{Solid, Dashed, Dotted}[n/len(series)%3]
}

// RGB returns the colour in the light theme or the dark one.
func (c Colour) RGB(dark bool) color.NRGBA {
	v := palette[c].light
	if dark {
		v = palette[c].dark
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// CSS returns the rules that figures on a page need: colours for light and dark, fonts, and the class of each colour.
func CSS() string {
	var b strings.Builder
	light, dark := variables(func(s shade) uint32 { return s.light }), variables(func(s shade) uint32 { return s.dark })
	fmt.Fprintf(&b, ".figure{%s}\n", light)
	fmt.Fprintf(&b, "@media screen and (prefers-color-scheme:dark){.figure{%s}}\n", dark)
	b.WriteString(".figure text{font-family:system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif;font-variant-numeric:tabular-nums}\n")
	for _, c := range names() {
		fmt.Fprintf(&b, ".figure .f-%s{fill:var(--%s)}.figure .s-%s{stroke:var(--%s)}\n", c, c, c, c)
	}
	return b.String()
}

func variables(of func(shade) uint32) string {
	var all []string
	for _, c := range names() {
		all = append(all, fmt.Sprintf("--%s:#%06X", c, of(palette[c])))
	}
	return strings.Join(all, ";")
}

func names() []Colour {
	var all []Colour
	for c := range palette {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}
