"""Exchange of models and features: exported to search engines, imported from other programs."""

from podium.exchange.emulation import EMULATORS, emulate
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.feature_sets.declared_features import FeatureSet
from podium.exchange.feature_sets.feature_export import ExportedFeatures, export_features
from podium.exchange.feature_sets.feature_logs import read_feature_logs
from podium.exchange.feature_sets.features_file import read_features
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
    "ExportedFeatures",
    "ExportedModel",
    "FeatureSet",
    "IMPORTERS",
    "MinMax",
    "NORMALIZERS",
    "PortableModel",
    "Standard",
    "SumOfForms",
    "WeightedSum",
    "emulate",
    "export_features",
    "export_model",
    "fit_normalizers",
    "import_model",
    "normalize",
    "read_feature_logs",
    "read_features",
]
