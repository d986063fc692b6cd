"""Pages, Numbers and Keynote: by the preview that they carry as PDF, else by what their own parts say."""
