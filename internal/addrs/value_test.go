package addrs

import "testing"

func TestParseValueText(t *testing.T) {
	for text, want := range map[string]string{
		"var.x": "var.x", "module.m.local.y": "module.m.local.y",
		`module.m["k"].module.n.output.z`: `module.m["k"].module.n.output.z`,
		"aws_vpc.main":                    "", "module.m": "", "data.var.x": "",
		"var": "error", "var[0]": "error", "var.x.y": "error", "local.x[0]": "error", "module.": "error", "": "error",
	} {
		v, ok, err := ParseValueText(text)
		got := ""
		switch {
		case err != nil:
			got = "error"
		case ok:
			got = v.String()
		}
		if got != want {
			t.Errorf("%q: got %q (%v), want %q", text, got, err, want)
		}
	}
}
