package statefile

// ReadUpTo is readUpTo, for testing the limit with little data.
var ReadUpTo = readUpTo
