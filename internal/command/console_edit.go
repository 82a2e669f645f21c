package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/terminal"
)

// lineEditor reads lines from a terminal with editing, a history on the arrow keys, and completion
// of names with Tab.
type lineEditor struct {
	in       *os.File
	terminal *term.Terminal
	words    []string // sorted names for completion
	keys     []byte   // read, but not passed on yet
	typed    bool     // whether something was typed since the line was last empty
	left     bool     // whether the line ended because of a Ctrl-C
}

// errAbandoned reports that Ctrl-C was pressed on an empty line.
var errAbandoned = errors.New("the input was interrupted")

// Keys that the editor of lines knows.
const (
	ctrlC = 3
	toEnd = 5  // Ctrl-E moves to the end of the line
	erase = 21 // Ctrl-U erases everything before the cursor
)

// Read implements io.Reader. It passes on what is typed, but Ctrl-C on a typed line erases the line, and on
// an empty one ends it. The terminal never sees a Ctrl-C, which would end all further lines too.
func (e *lineEditor) Read(p []byte) (int, error) {
	if len(e.keys) == 0 {
		keys := make([]byte, max(len(p)/2, 1)) // a key may become two
		n, err := e.in.Read(keys)
		if n == 0 {
			return 0, err
		}
		e.keys = keys[:n]
	}
	var out []byte
	for len(e.keys) > 0 {
		switch key := e.keys[0]; {
		case key == ctrlC && e.typed:
			e.typed = false
			out = append(out, toEnd, erase)
		case key == ctrlC && len(out) > 0:
			return copy(p, out), nil // so that only the line that begins now is abandoned
		case key == ctrlC:
			e.left, e.keys = true, e.keys[1:]
			return copy(p, "\r"), nil
		default:
			e.typed = key >= ' ' || e.typed && key != '\r'
			out = append(out, key)
		}
		e.keys = e.keys[1:]
	}
	return copy(p, out), nil
}

func newLineEditor(in *os.File, out io.Writer, words []string) *lineEditor {
	e := &lineEditor{in: in, words: words}
	e.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e, out}, "")
	e.terminal.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		line, pos, choices := completeName(e.words, line, pos)
		if len(choices) > 0 {
			fmt.Fprintln(e.terminal, strings.Join(choices, "  "))
		}
		return line, pos, true
	}
	return e
}

// next reads a line. It restores the terminal's mode before it returns, so that values can be
// printed in the usual mode.
func (e *lineEditor) next(ctx context.Context, prompt string) (string, error) {
	fd := int(e.in.Fd())
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = e.terminal.SetSize(width, height) // a wrong width only misplaces the cursor
	}
	e.terminal.SetPrompt(prompt)
	return terminal.ReadTerminal(ctx, e.in, func() (string, error) {
		before, err := term.MakeRaw(fd)
		if err != nil {
			return "", fmt.Errorf("preparing the terminal: %w", err)
		}
		defer func() { _ = term.Restore(fd, before) }()
		e.left = false
		line, err := e.terminal.ReadLine()
		if e.left {
			err = errAbandoned
		}
		return line, err
	})
}

// maxChoices is the maximum number of completions to show.
const maxChoices = 60

// completeName completes the name before pos: it replaces the name with the longest common prefix
// of all words that begin with the name. If this doesn't make the name longer and there are several
// such words, completeName returns them as choices, at most maxChoices.
func completeName(words []string, line string, pos int) (newLine string, newPos int, choices []string) {
	start := strings.LastIndexFunc(line[:pos],
		func(r rune) bool { return !strings.ContainsRune("._-:", r) && !isWordRune(r) }) + 1
	prefix := line[start:pos]
	if prefix == "" {
		return line, pos, nil
	}
	first, _ := slices.BinarySearch(words, prefix)
	last := first
	for last < len(words) && strings.HasPrefix(words[last], prefix) {
		last++
	}
	if first == last {
		return line, pos, nil
	}
	common := words[first]
	for _, word := range words[first:last] {
		for !strings.HasPrefix(word, common) {
			common = common[:len(common)-1]
		}
	}
	if common == prefix && last-first > 1 {
		choices = words[first:min(last, first+maxChoices)]
	}
	return line[:start] + common + line[pos:], start + len(common), choices
}

func isWordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// consoleWords returns the names that have a meaning in the console, sorted.
func consoleWords(cfg *configs.Config, scope *lang.Scope) []string {
	words := []string{"path.cwd", "path.module", "path.root", "terraform.workspace", "tofu.workspace", "type(", "exit"}
	for name := range scope.Functions {
		if !strings.HasPrefix(name, funcs.Namespace) {
			words = append(words, name+"(")
		}
	}
	m := cfg.Module
	for name := range m.Variables {
		words = append(words, "var."+name)
	}
	for name := range m.Locals {
		words = append(words, "local."+name)
	}
	for addr := range m.Resources {
		words = append(words, addr.String())
	}
	for name, call := range m.Calls {
		words = append(words, "module."+name)
		if child := cfg.Children[name]; child != nil && call.Count == nil && call.ForEach == nil {
			for output := range child.Module.Outputs {
				words = append(words, "module."+name+"."+output)
			}
		}
	}
	slices.Sort(words)
	return words
}
