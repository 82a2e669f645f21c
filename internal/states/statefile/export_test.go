package statefile

// ReadUpTo lets the test of the limit do with less than a gigabyte.
var ReadUpTo = readUpTo
