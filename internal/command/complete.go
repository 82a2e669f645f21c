package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tofu/internal/atomicfile"
)

// patience is how long a shell may wait for what a backend has to be asked for.
const patience = 3 * time.Second

// complete prints what the last word of a command line may become: commands, options after a dash, arguments. Shells ask for it by
// starting the program with the line in COMP_LINE. Where nothing is printed, they offer files.
func (a *App) complete(table []*Command, line string) {
	const cursor = "|" // so that there is a last word where the line ends with a space
	words, err := splitWords(line + cursor)
	if err != nil {
		return // within quotes shells offer files
	}
	last := strings.TrimSuffix(words[len(words)-1], cursor)
	words = words[:len(words)-1]
	if len(words) > 0 {
		words = words[1:] // the program's own name
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if dir, ok := strings.CutPrefix(words[0], "-chdir="); ok && os.Chdir(dir) != nil {
			return
		}
		words = words[1:]
	}
	cmd, _, rest := find(table, words)
	var candidates []string
	switch {
	case strings.HasPrefix(last, "-") && cmd == nil:
		candidates = []string{"-chdir=", "-help", "-profile=", "-timings", "-version"}
	case strings.HasPrefix(last, "-") && cmd.New != nil:
		candidates = optionWords(cmd)
	case cmd == nil && len(rest) == 0:
		candidates = commandNames(table)
	case cmd != nil && cmd.Complete != nil && atArgument(cmd, rest):
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		candidates = cmd.Complete(ctx, a)
	case cmd != nil && len(rest) == 0:
		candidates = commandNames(cmd.Sub)
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, last) {
			fmt.Fprintln(a.Out, c)
		}
	}
}

// atArgument tells whether the next word is the command's first argument: there are only options before it, each with its value.
func atArgument(cmd *Command, before []string) bool {
	set := newOptions(cmd.Name)
	cmd.New(set)
	valueNext := false
	for _, word := range before {
		switch {
		case valueNext:
			valueNext = false
		case !strings.HasPrefix(word, "-"):
			return false
		default:
			f := set.Lookup(strings.TrimLeft(word, "-")) // not found with its value behind an equals sign
			valueNext = f != nil && !isBoolFlag(f)
		}
	}
	return !valueNext
}

// optionWords are a command's options. Shells put a space after each, so a value comes as the next word, where they offer files.
func optionWords(cmd *Command) []string {
	var words []string
	set := newOptions(cmd.Name)
	cmd.New(set)
	set.VisitAll(func(f *flag.Flag) {
		switch {
		case f.Usage == "": // help does not tell of it either
		case isBoolFlag(f) && f.DefValue == "true":
			words = append(words, "-"+f.Name+"=false")
		default:
			words = append(words, "-"+f.Name)
		}
	})
	return words
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

// completions are the lines that make a shell ask this program, by the file that the shell reads when it starts. %s is a command that
// starts the program, within the quotes of the line.
var completions = []struct {
	file, line string
	quote      func(command string) string
}{
	{".bashrc", "complete -o default -C '%[1]s' tofu", inShellQuotes},
	{".zshrc", "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; " +
		"autoload -Uz bashcompinit && bashcompinit; complete -o default -C '%[1]s' tofu", inShellQuotes},
	{".config/fish/completions/tofu.fish", "complete -c tofu -f -a '(set -l found (env COMP_LINE=(commandline -cp) %[1]s); " +
		"and count $found >/dev/null; and string join -- \\n $found; or __fish_complete_path (commandline -ct))'", strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace},
}

func inShellQuotes(command string) string { return strings.ReplaceAll(command, "'", `'\''`) }

// shellWord gives text as one word of a command, for any shell.
func shellWord(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c < utf8.RuneSelf && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+@%:,", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// setCompletion puts the lines into the files of the shells that the user has, or takes them out again.
func (a *App) setCompletion(install bool) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding out where this program is: %w", err)
	}
	home := a.Env("HOME")
	if home == "" {
		return errors.New("the variable HOME doesn't say where the shells' start files are")
	}
	done := 0
	for _, c := range completions {
		path := filepath.Join(home, c.file)
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			continue
		}
		old, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !(install && strings.HasSuffix(c.file, ".fish")):
			continue // not a shell this user has set up
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("reading the shell's start file: %w", err)
		}
		line := fmt.Sprintf(c.line, c.quote(shellWord(program))) + "\n"
		text := bytes.ReplaceAll(old, []byte(line), nil)
		if install {
			if len(text) > 0 && text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
			text = append(text, line...)
		}
		if err := atomicfile.Rewrite(path, text); err != nil {
			return fmt.Errorf("changing the shell's start file: %w", err)
		}
		done++
	}
	if done == 0 {
		return fmt.Errorf("no shell's start file was found in %s: neither .bashrc nor .zshrc nor fish's folder for completions", home)
	}
	return nil
}
