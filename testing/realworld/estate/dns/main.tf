# Hosts, and a name for each database of the other root module.

terraform {
  required_providers {
    dns = { source = "hashicorp/dns" }
  }
}

variable "dns_port" { type = number }

variable "dns_secret" {
  type      = string
  sensitive = true
}

variable "hosts" {
  type    = number
  default = 40
}

provider "dns" {
  update {
    server        = "127.0.0.1"
    port          = var.dns_port
    key_name      = "tofu."
    key_algorithm = "hmac-sha256"
    key_secret    = var.dns_secret
  }
}

data "terraform_remote_state" "db" {
  backend = "local"
  config  = { path = "${path.module}/../db/terraform.tfstate" }
}

locals {
  zone      = "realworld.test."
  databases = data.terraform_remote_state.db.outputs.databases
}

resource "dns_a_record_set" "host" {
  count     = var.hosts
  zone      = local.zone
  name      = format("host%03d", count.index)
  addresses = ["10.0.${floor(count.index / 250)}.${count.index % 250 + 1}"]
  ttl       = 300
}

resource "dns_cname_record" "database" {
  for_each = local.databases
  zone     = local.zone
  name     = each.key
  cname    = "${dns_a_record_set.host[index(keys(local.databases), each.key)].name}.${local.zone}"
  ttl      = 60
}

resource "dns_txt_record_set" "owner" {
  for_each = local.databases
  zone     = local.zone
  name     = "owner.${each.key}"
  txt      = [each.value]
  ttl      = 60
}

output "names" {
  value = { for key, record in dns_cname_record.database : key => record.cname }
}
