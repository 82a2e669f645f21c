# The databases of some services, each with an owner, a reader and a schema that the reader may use.

terraform {
  required_providers {
    postgresql = { source = "cyrilgdn/postgresql" }
  }
}

variable "postgres_port" { type = number }

variable "services" {
  type    = set(string)
  default = ["billing", "orders", "search"]
}

provider "postgresql" {
  host     = "127.0.0.1"
  port     = var.postgres_port
  username = "postgres"
  sslmode  = "disable"
}

resource "postgresql_role" "owner" {
  for_each = var.services
  name     = "${each.key}_owner"
}

resource "postgresql_role" "reader" {
  for_each         = var.services
  name             = "${each.key}_reader"
  login            = true
  connection_limit = 5
}

resource "postgresql_database" "service" {
  for_each = var.services
  name     = each.key
  owner    = postgresql_role.owner[each.key].name
}

resource "postgresql_schema" "reports" {
  for_each = var.services
  name     = "reports"
  database = postgresql_database.service[each.key].name
  owner    = postgresql_role.owner[each.key].name
}

resource "postgresql_grant" "reports" {
  for_each    = var.services
  database    = postgresql_schema.reports[each.key].database
  schema      = postgresql_schema.reports[each.key].name
  role        = postgresql_role.reader[each.key].name
  object_type = "schema"
  privileges  = ["USAGE"]
}

output "databases" {
  value = { for name, db in postgresql_database.service : name => db.owner }
}
