"""Options of ``podium doctor``."""

from dataclasses import dataclass

from podium.apps.cli.options import Json


@dataclass(frozen=True)
class DoctorOptions:
    """Check the installation, and say what to do about each finding.

    Example: podium doctor

    It looks at kernels, packages, extras, plug-ins, folders, memory and the clock. The exit code is 1 if
    there is a problem; notes do not count.
    """

    json: Json = False
