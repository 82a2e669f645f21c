terraform {
  backend "local" {}
}

variable "region" {
  type = string
}

variable "environment" {
  type = string
}

variable "zones" {
  type        = number
  description = "How many subnets to create"
}

variable "protected" {
  type    = bool
  default = false
}

module "labels" {
  source      = "../modules/labels"
  region      = var.region
  environment = var.environment
}

resource "terraform_data" "network" {
  input = merge(module.labels.all, { protected = tostring(var.protected) })
}

resource "terraform_data" "subnet" {
  count = var.zones
  input = { network = terraform_data.network.id, cidr = cidrsubnet("10.0.0.0/16", 8, count.index) }
}

output "id" {
  value = terraform_data.network.id
}

output "subnets" {
  value = [for s in terraform_data.subnet : s.output.cidr]
}
