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

// completionTimeout is the maximum time that a completion may spend on requests to a backend.
const completionTimeout = 3 * time.Second

// complete prints the completions of the last word of a command line: commands, options after a
// dash, or arguments. Shells start the program with the line in COMP_LINE, and complete file names
// if nothing is printed.
func complete(app *App, table []*Command, line string) {
	// cursor is appended to the line, so that there is a last word even if the line ends with a
	// space.
	const cursor = "|"
	words, err := splitWords(line + cursor)
	if err != nil {
		return // shells complete file names within quotes
	}
	last := strings.TrimSuffix(words[len(words)-1], cursor)
	words = words[:len(words)-1]
	if len(words) > 0 {
		words = words[1:] // the program's own name
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if dir, ok := strings.CutPrefix(words[0], "-chdir="); ok {
			if err := os.Chdir(dir); err != nil {
				return
			}
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
		ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
		defer cancel()
		candidates = cmd.Complete(ctx, app)
	case cmd != nil && len(rest) == 0:
		candidates = commandNames(cmd.Sub)
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, last) {
			fmt.Fprintln(app.Out, c)
		}
	}
}

// atArgument reports whether the next word is the first argument of the command: whether all words
// before it are options or their values.
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
			f := set.Lookup(strings.TrimLeft(word, "-")) // nil for -name=value, which needs no further word
			valueNext = f != nil && !isBoolFlag(f)
		}
	}
	return !valueNext
}

// optionWords returns the options of a command. They don't end in "=": shells add a space after
// a completed word and then complete file names for the value.
func optionWords(cmd *Command) []string {
	var words []string
	set := newOptions(cmd.Name)
	cmd.New(set)
	set.VisitAll(func(f *flag.Flag) {
		switch {
		case f.Usage == "": // help omits this option too
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

// completions holds, for each shell, the line that enables completion and the file that the shell
// reads when it starts. %s is the quoted command that starts this program.
var completions = []struct {
	file, line string
	quote      func(command string) string
}{
	{".bashrc", "complete -o default -C '%[1]s' tofu", inShellQuotes},
	{".zshrc", "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; " +
		"autoload -Uz bashcompinit && bashcompinit; complete -o default -C '%[1]s' tofu", inShellQuotes},
	{".config/fish/completions/tofu.fish", "complete -c tofu -f -a '(set -l found (env COMP_LINE=(commandline " +
		"-cp) %[1]s); " +
		"and count $found >/dev/null; and string join -- \\n $found; or __fish_complete_path (commandline " +
		"-ct))'", strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace},
}

func inShellQuotes(command string) string { return strings.ReplaceAll(command, "'", `'\''`) }

// shellWord quotes text as one word of a command for any shell.
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

// setCompletion adds the lines of completions to the files in the directory home if install is
// true, or removes them otherwise. It skips shells that the user doesn't use.
func setCompletion(home string, install bool) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the path of this program: %w", err)
	}
	if home == "" {
		return errors.New("the shells' startup files can't be found, because the environment variable HOME is not set")
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
			continue // the user does not use this shell
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("reading the shell's startup file: %w", err)
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
			return fmt.Errorf("changing the shell's startup file: %w", err)
		}
		done++
	}
	if done == 0 {
		if !install {
			return fmt.Errorf("there is no completion to remove: %s has neither .bashrc nor .zshrc nor fish's file "+
				".config/fish/completions/tofu.fish", home)
		}
		return fmt.Errorf("no shell's startup file was found: %s has neither .bashrc nor .zshrc nor fish's "+
			"directory .config/fish/completions. Create the one of your shell, and run the command again", home)
	}
	return nil
}
