"""Exporters: one file for each engine that models go to."""
