"""Services for other programs: assistants, conversion, export, previews, usage and the doctor."""
