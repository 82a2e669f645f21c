package plugin

// method is the name of a call in protocol version 6.
type method string

const (
	getSchema         method = "GetProviderSchema"
	getIdentities     method = "GetResourceIdentitySchemas"
	validateProvider  method = "ValidateProviderConfig"
	configure         method = "ConfigureProvider"
	stop              method = "StopProvider"
	validateResource  method = "ValidateResourceConfig"
	validateData      method = "ValidateDataResourceConfig"
	validateEphemeral method = "ValidateEphemeralResourceConfig"
	upgradeState      method = "UpgradeResourceState"
	upgradeIdentity   method = "UpgradeResourceIdentity"
	readResource      method = "ReadResource"
	planChange        method = "PlanResourceChange"
	applyChange       method = "ApplyResourceChange"
	importState       method = "ImportResourceState"
	moveState         method = "MoveResourceState"
	generateConfig    method = "GenerateResourceConfig"
	readData          method = "ReadDataSource"
	openEphemeral     method = "OpenEphemeralResource"
	renewEphemeral    method = "RenewEphemeralResource"
	closeEphemeral    method = "CloseEphemeralResource"
	getFunctions      method = "GetFunctions"
	callFunction      method = "CallFunction"

	validateList method = "ValidateListResourceConfig"
	listResource method = "ListResource"

	validateAction method = "ValidateActionConfig"
	planAction     method = "PlanAction"
	invokeAction   method = "InvokeAction"

	validateStore  method = "ValidateStateStoreConfig"
	configureStore method = "ConfigureStateStore"
	readState      method = "ReadStateBytes"
	writeState     method = "WriteStateBytes"
	lockState      method = "LockState"
	unlockState    method = "UnlockState"
	getStates      method = "GetStates"
	deleteState    method = "DeleteState"
)

// version5 maps calls to their names in version 5, where these are different.
var version5 = map[method]string{
	getSchema:        "GetSchema",
	validateProvider: "PrepareProviderConfig",
	validateResource: "ValidateResourceTypeConfig",
	validateData:     "ValidateDataSourceConfig",
	configure:        "Configure",
	stop:             "Stop",
}

// path returns the full name of the call in a protocol version.
func (m method) path(version int) string {
	if version == 5 {
		if name, ok := version5[m]; ok {
			return "/tfplugin5.Provider/" + name
		}
		return "/tfplugin5.Provider/" + string(m)
	}
	return "/tfplugin6.Provider/" + string(m)
}
