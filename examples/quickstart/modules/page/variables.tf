variable "folder" {
  description = "The folder of the site."
  type        = string
}

variable "name" {
  description = "The name of the page, used in its file name and URL."
  type        = string
}

variable "page" {
  description = "The content of the page."
  type = object({
    title   = string
    summary = optional(string, "")
    body    = string
  })
}

variable "site_title" {
  description = "The name of the site."
  type        = string
}

variable "stylesheet" {
  description = "The address of the style sheet."
  type        = string
}
