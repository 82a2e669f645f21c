// Package builtin implements the built-in provider, terraform.io/builtin/terraform: the resource
// type terraform_data, the data source terraform_remote_state and a few functions.
//
// Invariants: the provider runs in this process and encodes no values, so an instance of
// terraform_data needs hardly more memory and time than its values. It keeps no data between calls,
// so one instance serves all callers. It performs no I/O: functions in [Options] read the states of
// other configurations.
package builtin
