"""Exchange of models: exported to search engines, imported from other programs."""

from podium.exchange.emulation import EMULATORS, emulate
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.model_export import EXPORTERS, export_model
from podium.exchange.model_import import IMPORTERS, import_model
from podium.exchange.normalizers import (
    NORMALIZERS,
    MinMax,
    Standard,
    fit_normalizers,
    normalize,
)
from podium.exchange.portable_model import PortableModel, SumOfForms, WeightedSum

__all__ = [
    "EMULATORS",
    "EXPORTERS",
    "ExportedModel",
    "IMPORTERS",
    "MinMax",
    "NORMALIZERS",
    "PortableModel",
    "Standard",
    "SumOfForms",
    "WeightedSum",
    "emulate",
    "export_model",
    "fit_normalizers",
    "import_model",
    "normalize",
]
