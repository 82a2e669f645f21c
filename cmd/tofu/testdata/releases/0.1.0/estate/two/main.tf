data "terraform_remote_state" "one" {
  backend = "local"
  config  = { path = "../one/terraform.tfstate" }
}
resource "terraform_data" "b" {
  input = data.terraform_remote_state.one.outputs.a
}
