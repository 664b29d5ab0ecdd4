package config

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"furlong/nearest"
)

//go:embed recipes/*.recipe
var recipeFiles embed.FS

// Recipes returns the names of the recipes in the binary, sorted.
func Recipes() []string {
	entries, err := recipeFiles.ReadDir("recipes")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".recipe"))
	}
	slices.Sort(names)
	return names
}

// Recipe returns the text of a recipe: flags over any number of lines, # comments, and sections. A line such as
//
//	[train eval]
//
// begins flags that only these commands read; those before the first section are for all.
func Recipe(name string) (string, error) {
	text, err := recipeFiles.ReadFile("recipes/" + name + ".recipe")
	if err == nil {
		return string(text), nil
	}
	near := ""
	if n := nearest.Name(name, Recipes()); n != "" {
		near = ", did you mean " + n + "?"
	}
	return "", fmt.Errorf("recipe is %q, want one of %s%s", name, strings.Join(Recipes(), ", "), near)
}

var sectionLine = regexp.MustCompile(`^\[[a-z][a-z ]*\]\s*(#.*)?$`)

// section blanks the lines of a file of flags that are for other commands, so that the others keep their numbers.
func section(text, command string) string {
	lines := strings.Split(text, "\n")
	ours := true
	for i, l := range lines {
		if l := strings.TrimSpace(l); sectionLine.MatchString(l) {
			inner, _, _ := strings.Cut(l[1:], "]")
			ours = slices.Contains(strings.Fields(inner), command)
			lines[i] = ""
		}
		if !ours {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
