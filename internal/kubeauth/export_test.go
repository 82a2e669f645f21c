package kubeauth

// PodIn is like Pod, but reads the credentials from another directory.
var PodIn = pod
