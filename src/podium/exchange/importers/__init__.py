"""Importers: one file for each program that models come from."""
