// Command gen writes the AVX2 and AVX-512 kernels of package asm: for each family an assembly file, its Go stubs, and what stands for them elsewhere.
//
// It is a module of its own so that the generator's library is no dependency of the product. Run it as
// "go generate" in package asm; its test fails when the committed files are not what it writes.
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen DIRECTORY")
	}
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
