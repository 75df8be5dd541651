"""What options name, read and checked before any work: files, columns, settings, stores."""
