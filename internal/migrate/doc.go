// Package migrate says what it takes to use this program for a root module of Terraform or OpenTofu:
// what works as it is, what will behave differently, and what has to be changed and how. It reads the
// configuration, local states, the lock file and files of CI systems, and neither changes anything nor
// uses the network.
//
// What is looked for is in tables: constructs of the configuration in config.go, words in other files
// in files.go.
package migrate
