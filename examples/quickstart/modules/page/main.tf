# One page of the site: an HTML file generated from a text.

terraform {
  required_providers {
    files = {
      source = "example.com/tofu/files"
    }
  }
}

locals {
  # Paragraphs are separated by empty lines.
  paragraphs = [for p in split("\n\n", trimspace(var.page.body)) : trimspace(p)]
}

resource "files_file" "page" {
  path = "${var.folder}/${var.name}.html"
  content = templatefile("${path.module}/page.html.tftpl", {
    title      = var.page.title
    site_title = var.site_title
    stylesheet = var.stylesheet
    paragraphs = local.paragraphs
  })
}
