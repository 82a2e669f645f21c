// Package acceptance tests the program with terraform-plugin-testing, the library that provider
// developers use for tests. The providers run in the test process. The program connects to them
// through TF_REATTACH_PROVIDERS.
package acceptance
