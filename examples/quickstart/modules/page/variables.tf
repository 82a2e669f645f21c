variable "folder" {
  description = "The folder of the site."
  type        = string
}

variable "name" {
  description = "The name of the page, which its file and its address have."
  type        = string
}

variable "page" {
  description = "What is on the page."
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
