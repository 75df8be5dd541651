"""Processes that are forks of one that has imported podium: its imports take longer than most commands.

A process has the environment and the folder in which the first one was started, unless it changes them.
"""

import multiprocessing

PRELOADED_COMMANDS = ("compare", "judge_import", "predict", "train")

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([f"podium.apps.cli.commands.{name}" for name in PRELOADED_COMMANDS])
