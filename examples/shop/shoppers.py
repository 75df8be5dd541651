"""Shoppers who search and click, so that there are events to learn from. Your shop has real ones.

A shopper looks at place p with probability 1/p and likes cheap products far more than the judgments say.

python shoppers.py [SEARCHES]
"""

import random
import sys

from search import ask, search

QUERIES = [f"{brand} {kind}" for kind in ("tent", "stove", "lamp", "bottle", "jacket", "rope")
           for brand in ("Acme", "Lumo", "Kestrel", "Ottavia")]  # fmt: skip


def shop(query, draw):
    """Search, and send what the shopper saw and clicked; return the number of clicks."""
    list_id, products = search(query)
    hits = [product["id"] for product in products]
    events = [{"query_id": list_id, "user_query": query, "query_response_hit_ids": hits}]
    for place, product in enumerate(products, start=1):
        is_liked = product["fields"]["price"] < 40 or draw.random() < 0.1
        actions = ["impression", *(["click"] if is_liked and draw.random() < 1 / place else [])]
        events += [event(list_id, name, product["id"], place) for name in actions]
    ask("/v1/events", events)
    return sum(event.get("action_name") == "click" for event in events)


def event(list_id, action, doc, place):
    """Return an event of User Behavior Insights (UBI)."""
    about = {"object": {"object_id": doc}, "position": {"ordinal": place}}
    return {"action_name": action, "query_id": list_id, "event_attributes": about}


if __name__ == "__main__":
    draw = random.Random(5)
    searches = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    clicks = sum(shop(draw.choice(QUERIES), draw) for _ in range(searches))
    print(f"{searches} searches, {clicks} clicks")
