"""Feature sets: features declared once, written for an engine, and read back from its logs."""
