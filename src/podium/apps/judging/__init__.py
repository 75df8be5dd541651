"""The judging web app: assessors judge in the browser, every judgment goes to a store."""

from podium.errors import require

for _module in ("fastapi", "jinja2", "itsdangerous", "nh3"):
    require(_module, "web", "the judging web app")

from podium.apps.judging.app import make_app  # noqa: E402 - after the check
from podium.apps.judging.links import Links  # noqa: E402
from podium.apps.judging.settings import JudgingSettings  # noqa: E402

__all__ = ["JudgingSettings", "Links", "make_app"]
