variable "image" {
  default = "web:1.9"
}

locals {
  services = toset(["shop", "search", "mail"])
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["s3:GetObject", "s3:ListBucket"], Resource = "*" }]
  })
}

resource "terraform_data" "network" {
  input            = { cidr = "10.1.0.0/16", zones = ["a", "b", "c"] }
  triggers_replace = "10.1.0.0/16"
}

resource "terraform_data" "service" {
  for_each = local.services
  input    = { image = var.image, network = terraform_data.network.id, policy = local.policy }
}

resource "terraform_data" "job_queue" {
  input = "jobs"
}

resource "terraform_data" "old" {
  count = 1
  input = count.index
}
