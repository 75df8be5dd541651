"""Exporters: one file per target engine."""
