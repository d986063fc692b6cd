"""Electronic books: chapters as sections, and who wrote them."""
