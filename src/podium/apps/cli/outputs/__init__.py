"""What commands print and write: tables, JSON, progress bars, files of data and scores."""
