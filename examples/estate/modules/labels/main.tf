variable "region" {
  type = string
}

variable "environment" {
  type = string
}

output "all" {
  value = { region = var.region, environment = var.environment, company = "acme" }
}
