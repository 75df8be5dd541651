"""podium serve: what the command line refuses."""

from tests.support.cli import run


def test_durability_needs_a_log_of_events():
    error = run("serve", "--durability", "batch", code=2).stderr
    assert error.startswith("podium: expected --durability together with --events")
    assert error.count("\n") == 1
