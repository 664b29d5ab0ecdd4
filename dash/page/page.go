package page

import (
	"embed"
	"io/fs"
)

//go:embed assets
var files embed.FS

// FS holds the files of /assets/, by the name behind that prefix: main.js, style.css, lib/uPlot.min.js.
var FS = under(files, "assets")

// Index is the page itself, answered for every address that shows something.
var Index = read(FS, "index.html")

func under(fsys fs.FS, dir string) fs.FS {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		panic(err) // the folder is named in the embed line above
	}
	return sub
}

func read(fsys fs.FS, name string) []byte {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		panic(err) // the build put it there
	}
	return b
}
