"""PDF: pages read by MuPDF, made into one document."""
