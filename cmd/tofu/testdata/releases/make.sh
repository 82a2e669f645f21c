#!/usr/bin/env bash
# Writes what a release leaves behind into a new directory of the name of its version: states, a
# journal of a killed run, saved plans and working directories. Run it once for each release, with
# the released program, and commit the result. TestReleases reads all of them with later versions.
#
#     cmd/tofu/testdata/releases/make.sh PROGRAM VERSION
set -euo pipefail
program=$(realpath "$1")
to=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$2
mkdir "$to"
work=/tmp/site # plans contain the path
mkdir $work
trap 'rm -rf $work' EXIT
export TF_CLI_CONFIG_FILE=/dev/null TF_IN_AUTOMATION=1 HOME=$work

mkdir -p $work/killed $work/planned/m $work/estate/one $work/estate/two
cat >$work/killed/main.tf <<'END'
variable "command" {
  default = "kill -9 $PPID"
}
resource "terraform_data" "first" {
  input = "kept"
}
resource "terraform_data" "second" {
  input = terraform_data.first.output
  provisioner "local-exec" {
    command = var.command
  }
}
END
cd $work/killed
"$program" init >/dev/null
"$program" apply -auto-approve >/dev/null 2>&1 && exit 1
# The journal ends in space for more entries, and names the user and the machine.
tr -d '\0' <terraform.tfstate.journal | sed -e '/^ *$/d' -e 's/"who":"[^"]*"/"who":"someone@example"/' >journal
mv journal terraform.tfstate.journal
rm -f .terraform.tfstate.lock*

cat >$work/planned/main.tf <<'END'
variable "size" {
  type    = number
  default = 2
}
resource "terraform_data" "many" {
  count = var.size
  input = "object ${count.index}"
}
resource "terraform_data" "by_key" {
  for_each = toset(["x", "two words"])
  input    = terraform_data.many[0].id
}
module "m" {
  source = "./m"
}
output "sum" {
  value     = module.m.id
  sensitive = true
}
END
cat >$work/planned/m/main.tf <<'END'
resource "terraform_data" "in" {}
output "id" {
  value = terraform_data.in.id
}
END
cd $work/planned
"$program" init >/dev/null
"$program" apply -auto-approve >/dev/null
"$program" workspace new prod >/dev/null
"$program" apply -auto-approve >/dev/null
"$program" plan -var size=3 -out=grow.plan >/dev/null

cat >$work/estate/one/main.tf <<'END'
resource "terraform_data" "a" {
  input = 1
}
output "a" {
  value = terraform_data.a.output
}
END
cat >$work/estate/two/main.tf <<'END'
data "terraform_remote_state" "one" {
  backend = "local"
  config  = { path = "../one/terraform.tfstate" }
}
resource "terraform_data" "b" {
  input = data.terraform_remote_state.one.outputs.a
}
END
cd $work/estate
"$program" roots init >/dev/null
"$program" roots plan -out=all.plan >/dev/null
for name in killed planned estate; do cp -r $work/$name "$to"; done
