"""Models out to search engines, and models in from other programs."""

from podium.exchange.emulators import EMULATORS, emulate
from podium.exchange.exporting import EXPORTERS, export_model
from podium.exchange.importing import IMPORTERS, import_model
from podium.exchange.normalizers import (
    NORMALIZERS,
    MinMax,
    Standard,
    fit_normalizers,
    normalize,
)
from podium.exchange.portable import Portable, WeightedSum
from podium.exchange.targets.content import Exported

__all__ = [
    "EMULATORS",
    "EXPORTERS",
    "Exported",
    "IMPORTERS",
    "MinMax",
    "NORMALIZERS",
    "Portable",
    "Standard",
    "WeightedSum",
    "emulate",
    "export_model",
    "fit_normalizers",
    "import_model",
    "normalize",
]
