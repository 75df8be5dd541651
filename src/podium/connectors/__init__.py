"""Connectors: podium inside other packages. Most modules need an extra; import each by its name."""

__all__: list[str] = []
