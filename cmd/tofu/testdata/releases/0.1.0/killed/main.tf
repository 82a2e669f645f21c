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
