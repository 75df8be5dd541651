"""How many generated cases a test tries: all in `make soak`, a part of them in `make test`."""

import os

MIN_SOAK_CASES = 100_000
IS_SOAK = int(os.environ.get("PODIUM_CASES", "0")) >= MIN_SOAK_CASES
USUAL_CASES = 500 if IS_SOAK else 50
"""Of a test that names no number."""


def soak_cases(number: int, usual: int | None = None) -> int:
    """Return the number of cases in `make soak`; elsewhere the usual number, by default a third of it."""
    if IS_SOAK:
        return number
    return number // 3 if usual is None else usual
