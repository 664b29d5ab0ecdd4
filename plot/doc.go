// Package plot draws line charts as SVG: text that a page can hold and a browser shows without a script.
//
// A Figure is axes and Curves. Axes are linear or logarithmic and have ticks at round numbers; each curve is named at its right end, where
// names make room for each other. The same figure is the same text.
//
// Shapes: a curve has as many X as Y. Units: those of the axes' labels; the picture is 760 by 420 pixels. Errors: a number that
// has no place (NaN, infinite, or not positive on a logarithmic axis) interrupts its curve. Sources: ours.
package plot
