// Package azuretest serves the parts of Azure that have no emulator: Microsoft Entra ID, Azure
// Resource Manager, managed identities, metadata of clouds, and Key Vault.
//
// The servers use the documented protocols. They check what the real services check: client
// secrets, signatures of client assertions, audiences and signatures of tokens, and encryption
// parameters. With a proxy of package hosts, clients reach them under the real host names.
package azuretest
