// Command terraform-provider-files serves the provider of package files as a plugin.
package main

import (
	"context"
	"flag"
	"log"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"tofu/testing/providers/faults"
	"tofu/testing/providers/files"
)

// The linker sets the version, as in the mirror, and the last part of the provider's address. If
// the last part is files5, the plugin uses protocol 5.
var (
	version = "0.0.0"
	name    = "files"
)

func main() {
	debug := flag.Bool("debug", false, "stay in the foreground and print the value for TF_REATTACH_PROVIDERS")
	flag.Parse()
	faults.RecordStart(name)
	opts := providerserver.ServeOpts{Address: "example.com/tofu/" + name, Debug: *debug, ProtocolVersion: 6}
	if strings.HasSuffix(name, "5") {
		opts.ProtocolVersion = 5
	}
	err := providerserver.Serve(context.Background(), func() provider.Provider {
		return files.New(files.Options{Version: version, Protocol5: opts.ProtocolVersion == 5})
	}, opts)
	if err != nil {
		log.Fatal(err)
	}
}
