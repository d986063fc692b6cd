"""Documents as Markdown, from files and from addresses on the web."""
