package command

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// complete prints what the last word of a command line may become: commands, or options after a dash. Shells ask for it by
// starting the program with the line in COMP_LINE.
func complete(w io.Writer, table []*Command, line string) {
	words := strings.Fields(line)
	last := ""
	if len(words) > 0 && !strings.HasSuffix(line, " ") {
		words, last = words[:len(words)-1], words[len(words)-1]
	}
	if len(words) > 0 {
		words = words[1:] // the program's own name
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		words = words[1:] // global options
	}
	cmd, _, rest := find(table, words)
	var candidates []string
	switch {
	case strings.HasPrefix(last, "-") && cmd == nil:
		candidates = []string{"-chdir=", "-help", "-profile=", "-timings", "-version"}
	case strings.HasPrefix(last, "-") && cmd.Flags != nil:
		set := flag.NewFlagSet(cmd.Name, flag.ContinueOnError)
		cmd.Flags(set)
		set.VisitAll(func(f *flag.Flag) {
			if f.Usage == "" {
				return // help does not tell of it either
			}
			suffix := "="
			if isBoolFlag(f) && f.DefValue != "true" {
				suffix = ""
			}
			candidates = append(candidates, "-"+f.Name+suffix)
		})
	case cmd == nil && len(rest) == 0:
		candidates = commandNames(table)
	case cmd != nil && len(rest) == 0:
		candidates = commandNames(cmd.Sub)
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, last) {
			fmt.Fprintln(w, c)
		}
	}
}

func commandNames(table []*Command) []string {
	var names []string
	for _, c := range table {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// completions are the lines that make a shell ask this program, by the file that the shell reads when it starts. %s is the
// program's path.
var completions = []struct{ file, line string }{
	{".bashrc", "complete -C %[1]s tofu"},
	{".zshrc", "autoload -U +X bashcompinit && bashcompinit; complete -o nospace -C %[1]s tofu"},
	{".config/fish/completions/tofu.fish", "complete -c tofu -f -a '(env COMP_LINE=(commandline -cp) %[1]s)'"},
}

// setCompletion puts the lines into the files of the shells that the user has, or takes them out again.
func (a *App) setCompletion(install bool) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding out where this program is: %w", err)
	}
	home := a.Env("HOME")
	done := 0
	for _, c := range completions {
		path := filepath.Join(home, c.file)
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			continue
		}
		old, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(c.file, ".fish") {
			continue // not a shell this user has set up
		}
		line := fmt.Sprintf(c.line, program) + "\n"
		text := bytes.ReplaceAll(old, []byte(line), nil)
		if install {
			if len(text) > 0 && text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
			text = append(text, line...)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("changing the shell's start file: %w", err)
		}
		done++
	}
	if done == 0 {
		return fmt.Errorf("no shell's start file was found in %s: neither .bashrc nor .zshrc nor fish's folder for completions", home)
	}
	return nil
}
