// Package acceptance has tests of the program with terraform-plugin-testing, the library that provider developers
// test with. The providers run in the test process; the program reaches them through TF_REATTACH_PROVIDERS.
package acceptance
