"""Places of documents under hard rules: constraints, windows, and the search for the cheapest order."""
