"""PDF: what MuPDF finds on the pages, made into one document."""
