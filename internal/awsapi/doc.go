// Package awsapi signs in to AWS and calls its services. The s3 backend and the key provider
// aws_kms use it.
//
// [Config] holds the arguments that both of them have. Credentials, profiles, roles and SSO come
// from the configuration packages of the AWS SDK. Services are called with signed requests of
// package restapi. The SDK's clients for S3, DynamoDB and KMS are not used: for the ten calls that
// are needed, they would add 2.5 MB to the program. This package adds 0.2 MB.
//
// Invariants: Open looks for credentials once and says where it looked; the signature of a request
// uses the time of the service if the clock of this machine is wrong; errors name the service, the
// call, the status and the code, and never contain credentials.
package awsapi
