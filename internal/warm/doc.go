// Package warm keeps root modules ready for questions, for servers and editors: what was parsed,
// schemas, provider processes, and what providers have answered stay in memory between questions.
//
//	core := warm.New(process, workDir)
//	defer core.Close()
//	m, err := core.Open("network", warm.Options{})  // finds nothing out yet
//	core.SetText("network/main.tf", text)           // an unsaved text; DropText takes it back
//	plan, err := m.Plan(ctx, warm.PlanOptions{})
//	plan.WriteJSON(w)                                // as `tofu show -json` writes a saved plan
//	answer, err := plan.Explain(ctx, "aws_vpc.main")
//
// Each question is asked by the code of the commands: [Module.Diagnose] by that of `tofu validate`,
// [Module.Plan] by that of `tofu plan`. Only what they read comes from memory. A question looks first
// at the files on disk: no question is answered from a file that has changed since it was parsed, even
// without a report of the change.
//
// Invariants: an answer equals that of a cold run at the same time. Questions take no lock and write
// no state; only [Module.Apply] does. A question may be asked while others run; each sees the texts as
// they were when it began. A canceled context ends a question as an interrupt ends a command. No
// question ends the process: a crash is an error of its question.
package warm
