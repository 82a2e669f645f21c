package plans

// Action is the planned action on an object.
type Action uint8

const (
	NoOp Action = iota
	Create
	Read
	Update
	DeleteThenCreate
	CreateThenDelete
	Delete
	Forget
	ForgetThenCreate
	Invoke // of an action; no InstanceChange has it
)

// Valid reports whether a is one of the constants above.
func (a Action) Valid() bool { return int(a) < len(actionNames) }

// IsReplace reports whether the action replaces an object with a new one.
func (a Action) IsReplace() bool {
	return a == DeleteThenCreate || a == CreateThenDelete || a == ForgetThenCreate
}

// Names returns the names of the action in JSON output. String joins them with dashes.
func (a Action) Names() []string { return actionNames[a] }

var actionNames = [...][]string{
	NoOp:             {"no-op"},
	Create:           {"create"},
	Read:             {"read"},
	Update:           {"update"},
	DeleteThenCreate: {"delete", "create"},
	CreateThenDelete: {"create", "delete"},
	Delete:           {"delete"},
	Forget:           {"forget"},
	ForgetThenCreate: {"forget", "create"},
	Invoke:           {"invoke"},
}

func (a Action) String() string {
	names := a.Names()
	if len(names) == 2 {
		return names[0] + "-" + names[1]
	}
	return names[0]
}

// Reason says why an action was chosen, if the values don't show it. The strings are those in JSON
// output. "" means that there is no reason to show.
type Reason string

const (
	NoReason                     Reason = ""
	ReplaceTainted               Reason = "replace_because_tainted"
	ReplaceCannotUpdate          Reason = "replace_because_cannot_update"
	ReplaceByRequest             Reason = "replace_by_request"
	ReplaceByTriggers            Reason = "replace_by_triggers"
	DeleteNoResourceConfig       Reason = "delete_because_no_resource_config"
	DeleteWrongRepetition        Reason = "delete_because_wrong_repetition"
	DeleteCountIndex             Reason = "delete_because_count_index"
	DeleteEachKey                Reason = "delete_because_each_key"
	DeleteEnabledFalse           Reason = "delete_because_enabled_false"
	DeleteNoModule               Reason = "delete_because_no_module"
	DeleteNoMoveTarget           Reason = "delete_because_no_move_target"
	DeleteNewer                  Reason = "delete_because_newer" // the object is newer than the earlier state
	ReadConfigUnknown            Reason = "read_because_config_unknown"
	ReadDependencyPending        Reason = "read_because_dependency_pending"
	ReadCheckNested              Reason = "read_because_check_nested"
	ForgotLifecycleDestroyState  Reason = "forgot_because_lifecycle_destroy_in_state"
	ForgotLifecycleDestroyConfig Reason = "forgot_because_lifecycle_destroy_in_config"
)
