// Package azuretest serves the parts of Azure that have no emulator: Microsoft Entra ID, Azure
// Resource Manager, managed identities, metadata of clouds, and Key Vault.
//
// The servers speak the documented protocols and check what a real service checks: client secrets,
// the signatures of client assertions, the audience and the signature of tokens, and the parameters
// of encryption. They answer for their real hosts through a proxy of package hosts.
package azuretest
