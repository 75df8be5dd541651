"""``podium judge links``: a new personal link for everybody."""

from __future__ import annotations

from datetime import timedelta

from podium.apps.cli.inputs.judgment_store import choose_store, open_store, store_name
from podium.apps.cli.options.judge_links import JudgeLinksOptions
from podium.apps.cli.servers.judging_server import add_admin, print_links
from podium.apps.cli.servers.store_lock import server_address
from podium.apps.judging import Links
from podium.apps.judging.secret_files import secret_of
from podium.apps.judging.settings import check_base_url


def run_judge_links(options: JudgeLinksOptions) -> None:
    """Print a new personal link for everybody in a store."""
    name = choose_store(options.store, options.store_)
    url = options.base_url or server_address(name) or "http://127.0.0.1:8400"
    check_base_url(url)
    with open_store(name) as store:
        add_admin(store)
        store.renew_links(options.renew or ())
        links = Links(secret_of(name, options.secret))
        lifetime = timedelta(days=options.days)
        print_links(store, links, url, lifetime, options.json, store_name(name))
