package all

// Drivers are the drivers of all backends.
var Drivers = drivers
