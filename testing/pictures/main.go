// Command pictures writes the program's terminal output as SVG files, for the documentation. It
// applies a small configuration, changes it, and takes a picture of each view of the plan.
//
//	go run ./testing/pictures -bin bin/tofu -to docs/pictures
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed main.tf
var configuration string

// change makes the changes in the configuration that the pictures show. It is a list of pairs of
// old and new text.
var change = strings.NewReplacer(
	"web:1.8", "web:1.9",
	`"s3:GetObject"`, `"s3:GetObject", "s3:ListBucket"`,
	"10.0.0.0/16", "10.1.0.0/16",
	`["a", "b"]`, `["a", "b", "c"]`,
	`"queue"`, `"job_queue"`,
	"count = 3", "count = 1",
)

// pictures maps the name of each picture to the command that it shows.
var pictures = map[string][]string{
	"brief":   {"plan", "-concise", "-view=brief"},
	"tree":    {"plan", "-concise", "-view=tree"},
	"table":   {"plan", "-concise", "-view=table"},
	"explain": {"explain", "terraform_data.service[\"search\"]"},
}

func main() {
	bin := flag.String("bin", "bin/tofu", "the `program`")
	to := flag.String("to", "docs/pictures", "the `directory` of the pictures")
	flag.Parse()
	if err := write(*bin, *to); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func write(bin, to string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run := func(args ...string) (string, error) {
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "NO_COLOR=", "TF_IN_AUTOMATION=1")
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("tofu %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return string(out), err
	}
	configure := func(text string) error {
		return os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644)
	}
	if err := configure(configuration); err != nil {
		return err
	}
	for _, args := range [][]string{{"init"}, {"apply", "-auto-approve"}} {
		if _, err := run(args...); err != nil {
			return err
		}
	}
	if err := configure(change.Replace(configuration)); err != nil {
		return err
	}
	for name, args := range pictures {
		out, err := run(args...)
		if err != nil {
			return err
		}
		picture := svg("$ tofu "+strings.Join(args, " "), out)
		if err := os.WriteFile(filepath.Join(to, name+".svg"), []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Dimensions (in pixels) and colors of a picture.
const (
	charWidth, lineHeight, margin, fontSize = 7.8, 18, 14, 13

	background, foreground = "#16191d", "#d5d9de"
)

// colors maps the numbers in escape sequences to colors.
var colors = map[int]string{31: "#f2777a", 32: "#8cc570", 33: "#e5c07b", 34: "#6ab0f3", 35: "#c792ea", 36: "#56c2c0",
	90: "#7d8590", 91: "#f2777a", 92: "#8cc570", 93: "#e5c07b"}

// style is the appearance of a piece of text.
type style struct {
	color      string
	bold, dim  bool
	underlined bool
}

// svg returns a picture of a command and its output.
func svg(command, output string) string {
	output = strings.Trim(output, "\n")
	lines := append([]string{command, ""}, strings.Split(output, "\n")...)
	columns := 0
	var body strings.Builder
	var now style
	for i, line := range lines {
		y := margin + (i+1)*lineHeight - 5
		column := 0
		for line != "" {
			var piece string
			piece, line, now = next(line, now, func(text string) {
				shown := strings.TrimLeft(text, " ") // SVG viewers drop leading spaces
				if shown != "" {
					x := margin + float64(column+len(text)-len(shown))*charWidth
					fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\"%s>%s</text>\n", x, y, now.attributes(),
						html.EscapeString(shown))
				}
			})
			column += utf8.RuneCountInString(piece)
		}
		columns = max(columns, column)
	}
	width, height := 2*margin+int(float64(columns)*charWidth)+1, 2*margin+len(lines)*lineHeight
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
			`font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" `+
			`xml:space="preserve">
<rect width="100%%" height="100%%" rx="6" fill="%s"/>
<g fill="%s">
%s</g>
</svg>
`, width, height, fontSize, background, foreground, body.String())
}

// next passes the text before the next escape sequence to the function print. It returns that text,
// the rest of the line after the sequence, and the style of the rest.
func next(line string, now style, print func(text string)) (text, rest string, then style) {
	start := strings.Index(line, "\x1b[")
	if start < 0 {
		print(line)
		return line, "", now
	}
	if start > 0 {
		print(line[:start])
	}
	end := strings.IndexByte(line[start:], 'm')
	if end < 0 {
		return line[:start], "", now
	}
	for code := range strings.SplitSeq(line[start+2:start+end], ";") {
		n, _ := strconv.Atoi(code)
		switch {
		case n == 0:
			now = style{}
		case n == 1:
			now.bold = true
		case n == 2:
			now.dim = true
		case n == 4 || n == 7:
			now.underlined = true
		case n == 22:
			now.bold, now.dim = false, false
		case n == 24 || n == 27:
			now.underlined = false
		case n == 39:
			now.color = ""
		case colors[n] != "":
			now.color = colors[n]
		}
	}
	return line[:start], line[start+end+1:], now
}

// attributes returns the style as attributes of an SVG text element.
func (s style) attributes() string {
	var out strings.Builder
	if s.color != "" {
		fmt.Fprintf(&out, " fill=%q", s.color)
	}
	if s.bold {
		out.WriteString(` font-weight="bold"`)
	}
	if s.dim {
		out.WriteString(` opacity="0.65"`)
	}
	if s.underlined {
		out.WriteString(` text-decoration="underline"`)
	}
	return out.String()
}
