package plans

// Warning is a warning of the run that made a plan.
type Warning struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	Place   string `json:"place,omitempty"` // file and line, such as "main.tf:3"
	// Check is the address of the object whose check has failed, or "" for another warning.
	Check string `json:"check,omitempty"`
}
