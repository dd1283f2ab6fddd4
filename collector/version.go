package collector

// Version is set at link time.
var Version = "dev"
