terraform {
  backend "local" {}
}

variable "region" {
  type = string
}

variable "environment" {
  type = string
}

variable "network_id" {
  type = string
}

variable "subnets" {
  type = list(string)
}

variable "machines" {
  type = number
}

module "labels" {
  source      = "../modules/labels"
  region      = var.region
  environment = var.environment
}

resource "terraform_data" "cluster" {
  input = merge(module.labels.all, { network = var.network_id })
}

resource "terraform_data" "machine" {
  count = var.machines
  input = { cluster = terraform_data.cluster.id, subnet = element(var.subnets, count.index) }
}

output "id" {
  value = terraform_data.cluster.id
}

output "endpoint" {
  value = "https://${var.environment}-${var.region}.example.com"
}

output "token" {
  value     = "token of ${terraform_data.cluster.id}"
  sensitive = true
}
