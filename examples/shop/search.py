"""Search the shop: the engine retrieves, podium ranks and applies the rules.

python search.py QUERY...
"""

import json
import os
import sys
import urllib.request
import uuid

from engine import retrieve

SERVICE = os.environ.get("SHOP_SERVICE", "http://127.0.0.1:8000")


def ask(path, body):
    """Send JSON to the ranking service; return its answer."""
    request = urllib.request.Request(
        SERVICE + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def search(query, k=10, session=None):
    """Return the id of the list and its products, best first."""
    products = {product["id"]: product for product in retrieve(query)}
    list_id = uuid.uuid4().hex
    body = {
        "documents": list(products.values()),
        "query": query,
        "rules": True,
        "k": k,
        "id": list_id,
    }
    answer = ask("/v1/rank", body | {"session": session or list_id})
    return list_id, [products[doc] for doc in answer["ids"]]


if __name__ == "__main__":
    for place, product in enumerate(search(" ".join(sys.argv[1:]))[1], start=1):
        fields = product["fields"]
        print(f"{place:2}  {fields['title']:20} {fields['price']:7.2f}  rated {fields['rating']}")
