"""The targets of exports: search engines and formats that take every form, and learners' own files."""

from podium.exchange import EXPORTERS

PROGRAMS = ("lightgbm", "ranklib", "xgboost")
"""Learners whose files podium writes; LightGBM's has trees only (tests/exchange/test_program_exports.py)."""
TARGETS = sorted(set(EXPORTERS) - set(PROGRAMS))
