package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tofu/internal/atomicfile"
)

// completionTimeout is the maximum time that a completion may spend on requests to a backend.
const completionTimeout = 3 * time.Second

// completeEnv is the environment variable by which the completion of a shell says that candidates
// must be quoted for that shell.
const completeEnv = "TOFU_COMPLETE"

// complete prints the completions of the last word of a command line: commands, options after a
// dash, values of options, or arguments. Shells start the program with the line in COMP_LINE, and
// complete file names if nothing is printed. Bash passes the part of the last word that a
// candidate replaces as the second argument.
func complete(app *App, table []*Command, args []string) {
	line := app.Env("COMP_LINE")
	if at, err := strconv.Atoi(app.Env("COMP_POINT")); err == nil && at >= 0 && at < len(line) {
		line = line[:at]
	}
	bash := app.Env(completeEnv) == "bash"
	words, last, quote, err := typedWords(line)
	if err != nil || quote != "" && !bash {
		return // other shells complete file names within quotes
	}
	app.Err = io.Discard // shells would show messages in the middle of the line
	if err := app.setup(""); err != nil {
		return
	}
	defer func() { _ = app.Logs.Close() }()
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if dir, ok := strings.CutPrefix(words[0], "-chdir="); ok {
			if err := os.Chdir(dir); err != nil {
				return
			}
		}
		words = words[1:]
	}
	kept := 0 // length of the part of the last word that bash keeps
	if bash && len(args) > 1 {
		if _, part, _, err := typedWords("x " + quote + args[1]); err == nil && strings.HasSuffix(last, part) {
			kept = len(last) - len(part)
		}
	}
	for _, c := range candidates(app, table, words, last) {
		if !strings.HasPrefix(c, last) {
			continue
		}
		if bash {
			c = bashWord(c[kept:], quote)
		}
		fmt.Fprintln(app.Out, c)
	}
}

// typedWords splits a command line, which may end within quotes, into the words after the name of
// the program and the last word. quote is the quote that is open at the end, or "".
func typedWords(line string) (words []string, last, quote string, err error) {
	// cursor is appended to the line, so that there is a last word even if the line ends with a
	// space.
	const cursor = "|"
	for _, quote = range []string{"", "'", `"`} {
		if words, err = splitWords(line + cursor + quote); err == nil {
			break
		}
	}
	if err != nil {
		return nil, "", "", err
	}
	last = strings.TrimSuffix(words[len(words)-1], cursor)
	words = words[:len(words)-1]
	if len(words) > 0 {
		words = words[1:] // the program's own name
	}
	return words, last, quote, nil
}

// bashWord quotes text for bash, after the given open quote.
func bashWord(text, quote string) string {
	switch quote {
	case "'":
		return inShellQuotes(text)
	case `"`:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text)
	}
	return strings.ReplaceAll(shellWord(text), `\=`, "=")
}

// candidates returns the completions of the last word after others. They may include words with
// other beginnings.
func candidates(app *App, table []*Command, words []string, last string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	cmd, _, rest := find(table, words)
	if cmd == nil || cmd.New == nil {
		switch {
		case strings.HasPrefix(last, "-") && cmd == nil:
			return globalWords()
		case cmd == nil && len(rest) == 0:
			return commandNames(table)
		case cmd != nil && len(rest) == 0:
			return commandNames(cmd.Sub)
		}
		return nil
	}
	if option, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(last, "-") {
		var out []string
		if values := optionValues[strings.TrimLeft(option, "-")]; values != nil {
			for _, v := range values(ctx, app, value) {
				out = append(out, option+"="+v)
			}
		}
		return out
	}
	option, arguments := position(cmd, rest)
	switch {
	case option != "" && optionValues[option] != nil:
		return optionValues[option](ctx, app, last)
	case option != "":
		return nil
	case strings.HasPrefix(last, "-"):
		return optionWords(cmd)
	case cmd.Complete != nil && (arguments == 0 || cmd.CompleteAll):
		return cmd.Complete(ctx, app, last)
	case arguments == 0 && len(rest) == 0:
		return commandNames(cmd.Sub)
	}
	return nil
}

// position returns what the next word is, after the words before it: the value of an option, or
// the argument with that index.
func position(cmd *Command, before []string) (option string, arguments int) {
	set := newOptions(cmd.Name)
	cmd.New(set)
	for _, word := range before {
		switch {
		case option != "":
			option = ""
		case !strings.HasPrefix(word, "-"):
			arguments++
		default:
			f := set.Lookup(strings.TrimLeft(word, "-")) // nil for -name=value, which needs no further word
			if f != nil && !isBoolFlag(f) {
				option = f.Name
			}
		}
	}
	return option, arguments
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

// globalWords returns the options before the command. Those with a value end in "=".
func globalWords() []string {
	var words []string
	for _, o := range globalOptions {
		name, _, hasValue := strings.Cut(o.left, "=")
		if hasValue {
			name += "="
		}
		words = append(words, name)
	}
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
	{".bashrc", "complete -o default -C 'env " + completeEnv + "=bash %[1]s' tofu", inShellQuotes},
	{".zshrc", "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; " +
		"autoload -Uz bashcompinit && bashcompinit; complete -o default -C '%[1]s' tofu", inShellQuotes},
	{".config/fish/completions/tofu.fish", "complete -c tofu -f -a '(set -l found (env COMP_LINE=(commandline " +
		"-cp) %[1]s); " +
		"and count $found >/dev/null; and printf \"%%s\\n\" $found; or __fish_complete_path (commandline " +
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
