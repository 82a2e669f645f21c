package command

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/version"
)

var cmdCompletion = &Command{
	Name: "completion", Own: true, Args: "SHELL", Short: "Print the completion script of a shell",
	Long: `
Prints a script that completes commands, options, addresses, workspaces, root
modules, plan files, outputs and providers in SHELL: bash, zsh, fish or
powershell. It is for the name under which the program runs, and starts the
program of that name. To use it in the current session:

  bash        source <(tofu completion bash)
  zsh         source <(tofu completion zsh)
  fish        tofu completion fish | source
  PowerShell  tofu completion powershell | Out-String | Invoke-Expression

Packages install the scripts where the shells look for them.`,
	New: with(func(f *completionFlags, fs *options) {
		f.add(fs)
		fs.StringVar(&f.Name, "name", "", "Complete the command `name` instead.")
	}, runCompletion),
	Complete: func(context.Context, *App, string) []string { return slices.Sorted(maps.Keys(completionScripts)) },
}

type completionFlags struct {
	viewFlags
	Name string
}

// completionScripts holds the script for each shell. NAME is the name of the command.
var completionScripts = map[string]string{
	"bash": `# bash completion for NAME
complete -o default -C 'env TOFU_COMPLETE=bash NAME' NAME
`,
	"zsh": `#compdef NAME
# zsh completion for NAME
_NAME() {
	local -a found
	local before="${(j: :)words[1,CURRENT-1]}"
	found=("${(@f)$(COMP_LINE="$before ${(q)${(Q)PREFIX}}" ${(Q)words[1]} 2>/dev/null)}")
	found=(${found:#})
	if (( $#found )); then
		compadd -- "${(@)found}"
	else
		_files
	fi
}
if [ "$funcstack[1]" = "_NAME" ]; then
	_NAME "$@"
else
	(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
	compdef _NAME NAME
fi
`,
	"fish": `# fish completion for NAME
function __NAME_complete
	set -l words (commandline -opc) (commandline -ct | string trim -l -c "'\"" | string unescape)
	set -l found (env COMP_LINE=(string escape -- $words[1..-2] | string join ' ')" "(string escape -- $words[-1]) \
		NAME 2>/dev/null)
	and count $found >/dev/null
	and printf '%s\n' $found
	or __fish_complete_path (commandline -ct)
end
complete -c NAME -f -a '(__NAME_complete)'
`,
	"powershell": `# PowerShell completion for NAME
Register-ArgumentCompleter -Native -CommandName 'NAME' -ScriptBlock {
	param($word, $line, $cursor)
	$text = $line.ToString()
	$length = $cursor - $line.Extent.StartOffset
	$env:COMP_LINE = $text.PadRight($length).Substring(0, $length)
	try { $found = & 'NAME' 2>$null } finally { Remove-Item Env:COMP_LINE }
	$found | Where-Object { $_ } | ForEach-Object {
		$value = $_
		if ($value -match '[^-\w./=:]') { $value = "'" + $value.Replace("'", "''") + "'" }
		[System.Management.Automation.CompletionResult]::new($value, $_, 'ParameterValue', $_)
	}
}
`,
}

func runCompletion(_ context.Context, app *App, f *completionFlags, args []string) error {
	shells := slices.Sorted(maps.Keys(completionScripts))
	if len(args) != 1 || completionScripts[args[0]] == "" {
		return badUsage("No such shell", "The command takes the name of a shell: %s.", strings.Join(shells, ", "))
	}
	name := f.Name
	if name == "" {
		name = version.Name
		if path, err := os.Executable(); err == nil {
			name = strings.TrimSuffix(filepath.Base(path), ".exe")
		}
	}
	if shellWord(name) != name {
		return badUsage("Name can't be completed", "The name %q has characters that shells interpret. Choose "+
			"another one with -name=NAME.", name)
	}
	_, err := fmt.Fprint(app.Out, CompletionScripts(name)[args[0]])
	return err
}

// CompletionScripts returns the completion script for a command of the given name for each shell.
func CompletionScripts(name string) map[string]string {
	out := make(map[string]string)
	for shell, text := range completionScripts {
		out[shell] = strings.ReplaceAll(text, "NAME", name)
	}
	return out
}
