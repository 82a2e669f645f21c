// Package acceptance tests the program with terraform-plugin-testing, the library with which
// provider developers test. The providers run in the test process; the program connects to them by
// TF_REATTACH_PROVIDERS.
package acceptance
