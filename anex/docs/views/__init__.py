"""Views of the docs: files for programs, pages, models, prices, and what an operator writes."""
