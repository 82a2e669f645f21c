terraform {
  backend "local" {}
}

variable "name" {
  type = string
}

variable "place" {
  type = string
}

variable "protected" {
  type    = bool
  default = false
}

data "terraform_remote_state" "cluster" {
  backend = "local"
  config = {
    path = "${path.module}/../states/${var.place}/cluster.tfstate"
  }
}

resource "terraform_data" "release" {
  input = templatefile("${path.module}/release.tftpl", {
    name    = var.name
    cluster = data.terraform_remote_state.cluster.outputs.id
  })
}

output "url" {
  value = "${data.terraform_remote_state.cluster.outputs.endpoint}/${var.name}"
}
