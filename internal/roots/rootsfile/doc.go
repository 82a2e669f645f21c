// Package rootsfile reads roots.tofu.hcl, the optional file that declares root modules and what
// can't be inferred about them.
//
//	locals {
//	  regions = toset(["eu", "us"])
//	}
//
//	exclude = ["examples/**"]
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
// Expressions can use the functions of the language, local, each, self (name and path) and
// path.root. In values of variables, they can also use root, which holds the outputs of other root
// modules. A [Variable] keeps such an expression, and [Variable.Value] evaluates it when the
// outputs are available.
//
// Invariants: a File is complete and free of errors, except that the root modules and outputs that
// references name may not exist; and all values except those of variables are known.
package rootsfile
