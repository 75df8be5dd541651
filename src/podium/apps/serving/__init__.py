"""The ranking service: models and rules over HTTP."""

from podium.errors import require

for _module in ("uvicorn", "prometheus_client"):
    require(_module, "web", "the ranking service")

from podium.apps.serving.app import RankingService, make_service  # noqa: E402 - after the check
from podium.apps.serving.settings import ServingSettings  # noqa: E402

__all__ = ["RankingService", "ServingSettings", "make_service"]
