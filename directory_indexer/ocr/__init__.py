"""OCR of scanned pages: local and remote engines behind one interface."""
