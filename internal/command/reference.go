package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/version"
)

// The reference documents are made from the tables that -help prints.

// documented is a command with the words that select it.
type documented struct {
	*Command
	path []string
}

// name is the name of the command, without options.
func (e *documented) name() string {
	return strings.Join(append([]string{version.Name}, e.path...), " ")
}

// page is the name of the manual page.
func (e *documented) page() string {
	return strings.Join(append([]string{version.Name}, e.path...), "-")
}

// documentedCommands returns all commands in the order of the tables. Each group precedes its commands.
func documentedCommands(table []*Command, path []string) []*documented {
	var out []*documented
	for _, c := range table {
		if c.Hidden {
			continue
		}
		e := &documented{c, append(path[:len(path):len(path)], c.Name)}
		out = append(out, e)
		out = append(out, documentedCommands(c.Sub, e.path)...)
	}
	return out
}

// WriteReference writes the description of all commands and options as Markdown.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Commands and options\n\nThis file is generated from the texts of `%s -help`; "+
		"`make golden` writes it again.\n\n## Global options\n\n", version.Name)
	fmt.Fprintf(&b, "    %sCOMMAND [options] [arguments]\n\n", programWord)
	markdownOptions(&b, globalOptions)
	for _, e := range documentedCommands(commands(), nil) {
		fmt.Fprintf(&b, "\n## %s\n\n    %s\n\n%s\n", e.name(), usage(e.Command, e.path), codeBlocks(e.Long))
		if len(e.Aliases) > 0 {
			fmt.Fprintf(&b, "\nOther names: `%s`.\n", strings.Join(e.Aliases, "`, `"))
		}
		if e.New != nil {
			b.WriteString("\n")
			markdownOptions(&b, optionsOf(e.Command))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownOptions(b *strings.Builder, all []option) {
	b.WriteString("| Option | |\n|---|---|\n")
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`)
	for _, o := range all {
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(o.left, "|", `\|`), escape.Replace(o.usage))
	}
}

// codeBlocks turns the indented lines of a text into code blocks of Markdown.
func codeBlocks(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// WriteManual writes a manual page for the program and for each command into a directory.
func WriteManual(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	all := documentedCommands(commands(), nil)
	pages := map[string]string{version.Name: programPage(all)}
	for _, e := range all {
		pages[e.page()] = commandPage(e)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing a manual page: %w", err)
		}
	}
	return nil
}

func programPage(all []*documented) string {
	var b strings.Builder
	manualHead(&b, version.Name, "infrastructure engine compatible with OpenTofu",
		programWord+"COMMAND [options] [arguments]")
	b.WriteString(".SH COMMANDS\n")
	for _, e := range all {
		fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(e.page()), roff(e.Short))
	}
	b.WriteString(".SH GLOBAL OPTIONS\n")
	manualOptions(&b, globalOptions)
	return b.String()
}

func commandPage(e *documented) string {
	var b strings.Builder
	manualHead(&b, e.page(), e.Short, usage(e.Command, e.path))
	b.WriteString(".SH DESCRIPTION\n")
	inCode := false
	for line := range strings.SplitSeq(strings.Trim(e.Long, "\n"), "\n") {
		code := strings.HasPrefix(line, "  ")
		switch {
		case code && !inCode:
			b.WriteString(".nf\n")
		case !code && inCode:
			b.WriteString(".fi\n")
		}
		if inCode = code; line == "" {
			line = ".PP"
		} else {
			line = roff(line)
		}
		b.WriteString(line + "\n")
	}
	if inCode {
		b.WriteString(".fi\n")
	}
	if e.New != nil {
		b.WriteString(".SH OPTIONS\n")
		manualOptions(&b, optionsOf(e.Command))
	}
	b.WriteString(".SH SEE ALSO\n")
	for _, sub := range e.Sub {
		fmt.Fprintf(&b, ".BR %s (1),\n", roff(e.page()+"-"+sub.Name))
	}
	fmt.Fprintf(&b, ".BR %s (1)\n", version.Name)
	return b.String()
}

func manualHead(b *strings.Builder, page, short, usage string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"%s %s\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", strings.ToUpper(page),
		version.Name, version.Own, roff(page), roff(short), roff(usage))
}

func manualOptions(b *strings.Builder, all []option) {
	for _, o := range all {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(o.left), roff(o.usage))
	}
}

// roff escapes text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
