"""Emulators: one file per engine; they compute scores like the engine."""
