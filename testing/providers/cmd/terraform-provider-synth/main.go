// Command terraform-provider-synth serves the provider of package synth as a plugin.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"tofu/testing/providers/faults"
	"tofu/testing/providers/synth"
)

// The linker sets the version, as in the mirror, and the last part of the provider's address.
var (
	version = "0.0.0"
	name    = "synth"
)

func main() {
	debug := flag.Bool("debug", false, "stay in the foreground and print the value for TF_REATTACH_PROVIDERS")
	flag.Parse()
	faults.RecordStart(name)
	size, err := synth.SizeFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	err = providerserver.Serve(context.Background(), func() provider.Provider {
		return synth.New(size, version)
	}, providerserver.ServeOpts{Address: "example.com/tofu/" + name, Debug: *debug, ProtocolVersion: 6})
	if err != nil {
		log.Fatal(err)
	}
}
