"""The command line: its program, and one module for the options and one for the work of each command.

What commands share lies beside them: `inputs` are read and checked, `outputs` are printed and written,
`servers` are run.
"""

from podium.apps.cli.program import app, main

__all__ = ["app", "main"]
