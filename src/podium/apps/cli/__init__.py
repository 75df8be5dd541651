"""The command line: its program, and one module for the options and one for the work of each command.

Shared code is beside them: `inputs` reads and checks files and options, `outputs` prints and writes
results, and `servers` runs the web servers.
"""

from podium.apps.cli.program import app, main

__all__ = ["app", "main"]
