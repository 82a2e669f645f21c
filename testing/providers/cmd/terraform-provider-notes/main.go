// Command terraform-provider-notes serves the provider of package notes as a plugin.
package main

import (
	"flag"

	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"

	"tofu/testing/providers/faults"
	"tofu/testing/providers/notes"
)

// The linker sets the last part of the provider's address.
var name = "notes"

func main() {
	debug := flag.Bool("debug", false, "stay in the foreground and print the value for TF_REATTACH_PROVIDERS")
	flag.Parse()
	faults.RecordStart(name)
	plugin.Serve(&plugin.ServeOpts{
		Debug:        *debug,
		ProviderAddr: "example.com/tofu/" + name,
		ProviderFunc: notes.New,
	})
}
