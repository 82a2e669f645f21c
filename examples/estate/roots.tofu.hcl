# Declares the root modules of the estate. Each directory is used several times: once for each
# environment in each region, with a state of its own.

locals {
  regions      = ["eu", "us"]
  environments = ["dev", "prod"]
  places = {
    for pair in setproduct(local.environments, local.regions) :
    "${pair[0]}/${pair[1]}" => { environment = pair[0], region = pair[1] }
  }
  services = {
    for pair in setproduct(keys(local.places), ["shop", "search"]) :
    "${pair[0]}/${pair[1]}" => merge(local.places[pair[0]], { place = pair[0], service = pair[1] })
  }
}

# Every root module keeps its state under its own name. With a bucket, this would be "key".
defaults {
  backend = { path = "${path.root}/states/${self.name}.tfstate" }
}

# Root modules with the tag "prod".
defaults "prod" {
  variables = { protected = true }
}

root "network" {
  for_each  = local.places
  name      = "${each.key}/network"
  path      = "network"
  tags      = [each.value.environment, each.value.region, "network"]
  var_files = ["${each.value.environment}.tfvars"]
  variables = { region = each.value.region, environment = each.value.environment }
}

root "cluster" {
  for_each  = local.places
  name      = "${each.key}/cluster"
  path      = "cluster"
  tags      = [each.value.environment, each.value.region, "cluster"]
  var_files = ["${each.value.environment}.tfvars"]
  variables = {
    region      = each.value.region
    environment = each.value.environment
    network_id  = root["${each.key}/network"].id
    subnets     = root["${each.key}/network"].subnets
  }
}

# A service reads the state of its cluster with terraform_remote_state, so nothing about it needs to
# be said here.
root "service" {
  for_each  = local.services
  name      = each.key
  path      = "service"
  tags      = [each.value.environment, each.value.region, "service", each.value.service]
  variables = { name = each.value.service, place = each.value.place }
}

root "dns" {
  tags      = ["global"]
  variables = { endpoints = { for place, _ in local.places : place => root["${place}/cluster"].endpoint } }
}
