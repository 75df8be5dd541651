"""Thin shells without algorithms: the command line, and later the web apps."""
