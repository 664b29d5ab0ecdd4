// Package figure draws charts: as SVG that a page holds and a browser shows without a script, and as shapes from which package figure/raster makes PNG.
//
// A [Figure] has two axes and marks in the order in which they are painted: [Line], [Step], [Band], [Bars], [Dots], [Heat], and what stands behind or beside them, [Rule], [Ticks], [Span].
// Above the plot are title and unit, the newest value at the right, and the key. Text is text, so that it can be found, copied and read aloud; colours are named by what they mean and are
// variables of CSS, so that one drawing serves light and dark pages. The same figure is the same text.
//
// What is not there is not drawn: a line breaks where a number has no place (NaN, infinite, not positive on a logarithmic axis), a number between two breaks is a point, and a zero on a logarithmic
// axis has a lane of its own below it. Lines of many points are thinned to the rows that can be seen (package metrics/trend), and these are as they were measured.
//
// Shapes: the slices of a mark have one entry a point; a mark whose slices differ in length panics. Units: the axes' labels say them; the picture's are pixels of CSS.
// Errors: none. Sources: ours; colours are chosen for distance in OKLab under normal, protan, deutan and tritan sight.
package figure
