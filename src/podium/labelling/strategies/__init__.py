"""Labelling strategies: which two documents to compare next, until the top k is found."""
