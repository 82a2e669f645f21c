output "title" {
  description = "The title of the page."
  value       = var.page.title
}

output "summary" {
  description = "A summary of the page in one sentence."
  value       = var.page.summary
}

output "url" {
  description = "The address of the page within the site."
  value       = basename(files_file.page.path)
}

output "sha256" {
  description = "The checksum of the page."
  value       = files_file.page.sha256
}
