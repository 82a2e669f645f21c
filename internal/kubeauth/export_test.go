package kubeauth

// PodIn is Pod with another folder for the credentials.
var PodIn = pod
