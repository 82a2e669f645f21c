variable "image" {
  default = "web:1.8"
}

locals {
  services = toset(["shop", "search", "mail"])
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["s3:GetObject"], Resource = "*" }]
  })
}

resource "terraform_data" "network" {
  input            = { cidr = "10.0.0.0/16", zones = ["a", "b"] }
  triggers_replace = "10.0.0.0/16"
}

resource "terraform_data" "service" {
  for_each = local.services
  input    = { image = var.image, network = terraform_data.network.id, policy = local.policy }
}

resource "terraform_data" "queue" {
  input = "jobs"
}

resource "terraform_data" "old" {
  count = 3
  input = count.index
}
