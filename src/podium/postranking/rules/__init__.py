"""Rules as values: their kinds, their documents, and rule files."""
