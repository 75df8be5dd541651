"""Models out to search engines, and models in from other programs."""

from podium.exchange.exporting import EXPORTERS, export_model
from podium.exchange.normalizers import MinMax, Standard, fit_normalizers, normalize
from podium.exchange.targets.content import Exported
