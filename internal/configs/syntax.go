package configs

import "github.com/hashicorp/hcl/v2"

// syntax holds what the language itself allows in blocks, by the types of the blocks around it.
var syntax = map[string]*hcl.BodySchema{
	"":                                  fileSchema,
	"terraform":                         terraformSchema,
	"language":                          languageSchema,
	"language.compatible_with":          compatibleSchema,
	"provider":                          providerMeta,
	"variable":                          variableSchema,
	"variable.validation":               checkRuleSchema,
	"output":                            outputSchemas[false],
	"output.precondition":               checkRuleSchema,
	"output.postcondition":              checkRuleSchema,
	"module":                            moduleMeta,
	"module.lifecycle":                  moduleLifecycleSchema,
	"resource":                          managedMeta,
	"data":                              dataMeta,
	"ephemeral":                         ephemeralMeta,
	"action":                            actionKind.schema,
	"resource.lifecycle":                lifecycleSchema,
	"resource.lifecycle.precondition":   checkRuleSchema,
	"resource.lifecycle.postcondition":  checkRuleSchema,
	"resource.lifecycle.action_trigger": triggerSchema,
	"resource.provisioner":              provisionerMeta,
	"data.lifecycle":                    lifecycleSchema,
	"data.lifecycle.precondition":       checkRuleSchema,
	"data.lifecycle.postcondition":      checkRuleSchema,
	"check":                             checkSchema,
	"check.data":                        dataMeta,
	"check.assert":                      checkRuleSchema,
	"moved":                             movedSchema,
	"import":                            importSchema,
	"removed":                           removedSchema,
}

// Syntax returns the arguments and the nested blocks that the language itself has in a block, besides
// those of a provider, a module or a backend. path has the types of the blocks, joined by dots, such as
// "resource.lifecycle"; "" is the file. Syntax returns nil for a block that has none.
func Syntax(path string) *hcl.BodySchema { return syntax[path] }
