"""Emulators: one file for each engine; they score rows as the engine does."""
