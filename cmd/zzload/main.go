package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

func main() {
	sc := bufio.NewScanner(os.Stdin)
	for sc.Scan() {
		os.Chdir(sc.Text())
		p := configs.NewParser(nil)
		cfg, diags := configs.LoadRoot(".", &configs.LoadOptions{Parser: p, Resolve: func(r *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
			if r.Source.Kind == addrs.LocalModule {
				dir := r.LocalDir()
				if _, err := os.Stat(dir); err != nil {
					return "", "", tfdiags.Diagnostics{tfdiags.Errorf("Unreadable module directory", "%s", err).At(r.Call.SourceRange)}
				}
				return dir, "", nil
			}
			return "", "", nil
		}})
		if cfg != nil && !diags.HasErrors() {
			diags = append(diags, cfg.CheckArguments()...)
		}
		var out [][]any
		for _, d := range diags {
			f, l := "", 0
			if d.Subject != nil {
				f, l = filepath.ToSlash(d.Subject.Filename), d.Subject.Start.Line
			}
			out = append(out, []any{d.Severity.String(), f, l, d.Summary + ": " + d.Detail, d.Summary})
		}
		b, _ := json.Marshal(out)
		fmt.Println(string(b))
	}
}
