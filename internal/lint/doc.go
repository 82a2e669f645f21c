// Package lint warns about what is valid in a root module but may be a mistake, as `-lint` requests.
// [Parse] reads the value of the option and [Check] applies the selected rules, which need only the
// text of the configuration. Identifiers of rules and groups are OpenTofu's.
package lint
