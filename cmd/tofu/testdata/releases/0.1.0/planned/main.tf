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
