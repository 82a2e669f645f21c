variable "title" {
  description = "The name of the site."
  type        = string
  default     = "A small garden"
}

variable "accent" {
  description = "The colour of headings and links, in CSS syntax."
  type        = string
  default     = "seagreen"

  validation {
    condition     = can(regex("^(#[0-9a-fA-F]{6}|[a-z]+)$", var.accent))
    error_message = "Write a colour name in lower case, or # and six hexadecimal digits."
  }
}
