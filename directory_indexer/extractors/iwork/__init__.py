"""Pages, Numbers and Keynote: by the PDF preview in the file, else by its own parts."""
