package upgrade_test

import (
	"fmt"

	"tofu/internal/depsfile"
	"tofu/internal/upgrade"
)

// Only the constraint changes; the comment stays.
func Example() {
	source := []byte("terraform {\n  required_version = \"~> 1.5\" # see the wiki\n}\n")
	places, err := upgrade.Places([]upgrade.File{{Name: "main.tf", Source: source}})
	if err != nil {
		fmt.Println(err)
		return
	}
	version, _ := depsfile.ParseVersion("2.1.0")
	raised, err := upgrade.Raise(places[0].Text, version)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(upgrade.Apply(source, []upgrade.Edit{{Place: places[0], Text: raised}})))
	// Output:
	// terraform {
	//   required_version = "~> 2.1" # see the wiki
	// }
}
