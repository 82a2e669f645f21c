resource "terraform_data" "in" {}
output "id" {
  value = terraform_data.in.id
}
