output "open" {
  description = "The page to open in a browser."
  value       = abspath(files_file.index.path)
}

output "pages" {
  description = "The pages of the site by name."
  value       = { for name, page in module.page : name => page.url }
}

output "drafts" {
  description = "Texts that are not published."
  value       = sort(setsubtract(keys(local.texts), keys(local.pages)))
}
