package depsfile

import (
	"testing"

	"github.com/apparentlymart/go-versions/versions"
)

func TestConstraintsString(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"1.1.0":                             "1.1.0",
		"= 1":                               "1.0.0",
		">1":                                "> 1.0.0",
		"~> 1":                              "~> 1.0",
		"~> 1.0":                            "~> 1.0",
		"~> 1.0.1":                          "~> 1.0.1",
		"~>1.0,~>1.0.0,~>1":                 "~> 1.0.0, ~> 1.0",
		"> 1.0, <= 1.2, ~> 1.0":             "> 1.0.0, ~> 1.0, <= 1.2.0",
		">= 1.0.0, != 2.0.0, != 1.2.0":      ">= 1.0.0, != 1.2.0, != 2.0.0",
		">= 1, >= 1.0.0":                    ">= 1.0.0",
		"~> 1.0.0, = 1.0.0, >= 1, <= 1.0.0": ">= 1.0.0, 1.0.0, ~> 1.0.0, <= 1.0.0",
		"!= 2.0, < 2, <= 2, ~> 1.2":         "~> 1.2, <= 2.0.0, < 2.0.0, != 2.0.0",
		"= 1.0.0+lab.1":                     "1.0.0+lab.1",
		">= 2.0.0-beta1":                    ">= 2.0.0-beta1",
		"~> 2.0-beta1":                      "~> 2.0-beta1",
		"~> 2.0.0-beta1":                    "~> 2.0.0-beta1",
		">= 1.10.0, >= 1.9.0":               ">= 1.9.0, >= 1.10.0",
		"!= 1.0.0, > 1.0.0, >= 1.0.0, ~> 1": "> 1.0.0, >= 1.0.0, ~> 1.0, != 1.0.0",
	} {
		c, err := ParseConstraints(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		got := ConstraintsString(c)
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		again, err := ParseConstraints(got)
		if err != nil || ConstraintsString(again) != got {
			t.Errorf("%q: normal form %q is read as %q, %v", in, got, ConstraintsString(again), err)
		}
	}
}

func TestParseConstraintsErrors(t *testing.T) {
	for _, in := range []string{"about 1", "v1.0.0", ">= v1", "1.x", "1.*", ">=1.0 <2.0", "1.0.0 || 2.0.0", ">= 1.0,",
		"^1.0", "1.0.0.0"} {
		if c, err := ParseConstraints(in); err == nil {
			t.Errorf("%q is read as %q", in, ConstraintsString(c))
		}
	}
}

func TestAcceptable(t *testing.T) {
	for _, c := range []struct{ constraints, version, not string }{
		{"", "1.0.0", "1.0.0-beta1"},
		{">= 1.0.0-alpha", "1.0.0", "1.0.0-beta1"},
		{"1.0.0-beta1", "1.0.0-beta1", "1.0.0"},
		{"~> 1.2", "1.9.0", "2.0.0"},
		{"~> 1.2.0", "1.2.9", "1.3.0"},
		{"!= 1.0.0", "1.0.1", "1.0.0"},
		{"1.0.0", "1.0.0", "1.0.1"},
	} {
		parsed, err := ParseConstraints(c.constraints)
		if err != nil {
			t.Fatal(err)
		}
		set := Acceptable(parsed)
		if !set.Has(versions.MustParseVersion(c.version)) {
			t.Errorf("%q doesn't admit %s", c.constraints, c.version)
		}
		if set.Has(versions.MustParseVersion(c.not)) {
			t.Errorf("%q admits %s", c.constraints, c.not)
		}
	}
}
