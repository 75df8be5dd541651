"""Options of ``podium doctor``."""

from dataclasses import dataclass

from podium.apps.cli.options import Json


@dataclass(frozen=True)
class DoctorOptions:
    """Check the installation: kernels, packages, extras, folders, memory, clock.

    Example: podium doctor

    Each finding says what to do. The exit code is 1 if there is a problem; notes do not count.
    """

    json: Json = False
