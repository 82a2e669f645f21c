package kubeauth

// PodIn is Pod with another folder.
var PodIn = pod
