# A small web site: one page for each text in content/, an index page and a style sheet, as files in a
# directory, and a note about each published page.

terraform {
  required_providers {
    files = {
      source  = "example.com/tofu/files"
      version = "~> 1.0"
    }
    notes = {
      source  = "example.com/tofu/notes"
      version = "~> 1.0"
    }
  }
}

provider "files" {
  root = path.root
}

provider "notes" {
  folder = "${path.root}/notes"
  author = "quickstart"
}

locals {
  # Each text starts with a few fields. Its file name is the name of the page.
  texts = {
    for name in fileset("${path.root}/content", "*.md") :
    trimsuffix(name, ".md") => provider::files::front_matter(file("${path.root}/content/${name}"))
  }

  # The texts that are not drafts.
  pages = {
    for name, text in local.texts : name => {
      title   = text.fields.title
      summary = lookup(text.fields, "summary", "")
      body    = text.body
    }
    if lookup(text.fields, "draft", "no") != "yes"
  }
}

resource "files_folder" "site" {
  path = "site"
}

resource "files_file" "style" {
  path    = provider::files::join_path(files_folder.site.id, "style.css")
  content = templatefile("${path.root}/templates/style.css.tftpl", { accent = var.accent })
}

module "page" {
  source   = "./modules/page"
  for_each = local.pages

  folder     = files_folder.site.id
  name       = each.key
  page       = each.value
  site_title = var.title
  stylesheet = basename(files_file.style.path)
}

resource "files_file" "index" {
  path = "${files_folder.site.id}/index.html"
  content = templatefile("${path.root}/templates/index.html.tftpl", {
    title      = var.title
    stylesheet = basename(files_file.style.path)
    pages      = module.page
  })
}

# A note for each published page, with the checksum of its text.
resource "notes_note" "published" {
  for_each = local.pages

  key   = each.key
  title = each.value.title
  tags  = ["published"]

  section {
    heading = "Summary"
    text    = each.value.summary
  }
  section {
    heading = "Checksum"
    text    = module.page[each.key].sha256
  }

  link {
    url = module.page[each.key].url
    rel = "page"
  }
}

check "every_page_has_a_summary" {
  assert {
    condition     = alltrue([for page in local.pages : page.summary != ""])
    error_message = "These pages have no summary: ${join(", ", [for name, page in local.pages : name if page.summary == ""])}."
  }
}
