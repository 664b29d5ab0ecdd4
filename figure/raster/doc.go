// Package raster makes PNG of figures, for places that show no SVG: a chat, a slide, a terminal with pictures.
//
// The shapes are those that the SVG is made of, in the light colours, so that both show the same. Text is set in the Go fonts, which are in the binary; nothing is looked for on the machine.
//
// Shapes: none. Units: pixels of CSS times a scale. Errors: a picture larger than 16,384 pixels on a side, and what the encoder says.
// Sources: golang.org/x/image (docs/adr/0027-png-figures.md).
package raster
