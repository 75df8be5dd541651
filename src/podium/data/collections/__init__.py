"""Collections: ranking data on disk in parts of whole queries, for data that does not fit into memory."""
