"""Index products.jsonl: in the folder index, or in the database of SHOP_DATABASE."""

import json

from engine import build_index

if __name__ == "__main__":
    with open("products.jsonl", encoding="utf-8") as file:
        products = [json.loads(line) for line in file]
    build_index(products)
    print(f"index: {len(products)} products")
