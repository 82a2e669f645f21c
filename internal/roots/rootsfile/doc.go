// Package rootsfile reads roots.tofu.hcl, the optional file that declares root modules and what
// can't be inferred about them.
//
//	locals {
//	  regions = toset(["eu", "us"])
//	}
//
//	defaults {
//	  backend = { key = "${self.name}.tfstate" }
//	}
//
//	root "network" {
//	  for_each  = local.regions
//	  name      = "${each.key}/network"
//	  path      = "network"
//	  var_files = ["${each.key}.tfvars"]
//	  tags      = ["network", each.key]
//	}
//
//	root "cluster" {
//	  for_each  = local.regions
//	  name      = "${each.key}/cluster"
//	  path      = "cluster"
//	  variables = { vpc_id = root["${each.key}/network"].vpc_id }
//	  after     = [root["dns"]]
//	}
//
// Expressions have the functions of the language, local, each, self (name and path) and path.root.
// The values of variables may also have root, with the outputs of other root modules: [Variable]
// keeps such an expression, and [Variable.Value] evaluates it with these outputs.
//
// Invariants: a File is complete and free of errors, except that names of root modules and outputs
// in references are unchecked; and everything but variables is known.
package rootsfile
