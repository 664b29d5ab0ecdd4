// Package page is what a browser shows of runs: one HTML page and the modules, styles and chart library it loads, held in the binary.
//
// The page is written as plain ES modules without a build step. It knows the addresses of dash-api.md and nothing else: every text of a run
// arrives as JSON by fetch and reaches the page as the text of a node, never as markup, so that an answer that holds a script is shown and
// not run. The whole view (page, cycle, range, axis, filter) stands in the address, so Back, reload and a copied link give the same view.
//
// A server answers three kinds of addresses: /api/..., which is its own; /assets/NAME, the file NAME of FS; and every other address that
// is not a file (/, /r/RUN/, /r/RUN/samples, ...) with Index, because the page finds out from the address what to show.
//
// Shapes: a module of assets is one topic: dom, text, format, address, api, live and keys are below; parts makes what several screens have,
// chart draws, board holds what charts share; the rest are screens.
// Units: as in the series' own table; the page rounds for words and shows stored values verbatim on hover and in tables.
// Errors: none of its own; what a server says of a failure is shown in place of the card that asked.
// Sources: charts are drawn by uPlot 1.6.32 (MIT), see docs/adr/0026-chart-library.md.
package page
