package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// argsFromEnv returns args with the arguments in TF_CLI_ARGS and TF_CLI_ARGS_<command> inserted
// after the words of the command.
func argsFromEnv(getenv func(string) string, path, args []string) ([]string, error) {
	names := []string{"TF_CLI_ARGS"}
	if len(path) > 0 { // arguments in TF_CLI_ARGS come after those of the specific variable, so they take precedence
		names = slices.Insert(names, 0, "TF_CLI_ARGS_"+strings.ReplaceAll(strings.Join(path, "_"), "-", "_"))
	}
	var extra []string
	for _, name := range names {
		words, err := splitWords(getenv(name))
		if err != nil {
			return nil, fmt.Errorf("reading the extra arguments in the environment variable %s: %w", name, err)
		}
		extra = append(extra, words...)
	}
	return append(extra, args...), nil
}

// splitWords splits a line into words like a shell: quotes preserve spaces, and a backslash escapes
// the next character (within double quotes only a quote, a backslash, a dollar sign or a
// backquote). It substitutes nothing.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	quote := rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteRune(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i+1 == len(runes) {
				return nil, errors.New("the last character is a backslash")
			}
			i++
			if quote == '"' && !strings.ContainsRune("\"\\$`", runes[i]) {
				word.WriteRune(c)
			}
			word.WriteRune(runes[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("there is no closing %c quote", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
