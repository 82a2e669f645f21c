terraform {
  backend "local" {}
}

variable "endpoints" {
  type        = map(string)
  description = "The endpoint of each cluster by its place, such as prod/eu"
}

resource "terraform_data" "record" {
  for_each = var.endpoints
  input    = { name = replace(each.key, "/", "."), target = each.value }
}

output "records" {
  value = { for place, r in terraform_data.record : place => r.output.name }
}
