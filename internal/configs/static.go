package configs

// staticScope evaluates what has to be known before there is an engine, for one module of the tree.
type staticScope struct{}
