"""Importers: one file per source program."""
