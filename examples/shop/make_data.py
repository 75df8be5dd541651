"""Write a small shop: products.jsonl and judgments.csv. Replace both by your own."""

import csv
import json
import random

KINDS = {
    "tent": "sleep dry in wind and rain",
    "stove": "cook on gas with one pot",
    "lamp": "light for camp and cave",
    "bottle": "keep water cold all day",
    "jacket": "stay warm in wind and rain",
    "rope": "climb and belay in any weather",
}
BRANDS = ("Acme", "Lumo", "Kestrel", "Ottavia")


def make_products(draw):
    """Yield 120 products."""
    for number in range(120):
        kind, brand = list(KINDS)[number % 6], draw.choice(BRANDS)
        other = draw.choice(list(KINDS))
        yield {
            "id": f"P{number}",
            "title": f"{brand} {kind} {number}",
            "description": f"{KINDS[kind]}. Goes well with a {other}.",
            "brand": brand,
            "price": round(draw.lognormvariate(3.5, 0.6), 2),
            "rating": round(draw.uniform(2, 5), 1),
            "stock": draw.choice([0, 3, 9, 40]),
        }


def grade(query, product, draw):
    """Return what an assessor says, from 0 to 3: the right kind, well rated, not dear."""
    words = query.lower().split()
    brand, kind, _ = product["title"].lower().split()
    if kind not in words:
        return 0
    liked = (brand in words) + product["rating"] - 3.5 - product["price"] / 80
    return 1 + sum(liked + draw.gauss(0, 0.3) > bound for bound in (0, 1))


def main():
    """Write both files."""
    draw = random.Random(3)
    products = list(make_products(draw))
    with open("products.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(product) + "\n" for product in products)
    queries = [f"{brand} {kind}" for kind in KINDS for brand in BRANDS] + list(KINDS)
    with open("judgments.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["query", "doc", "grade"])
        for query in queries:
            table.writerows([query, p["id"], grade(query, p, draw)] for p in products)
    print(f"products.jsonl: {len(products)} products; judgments.csv: {len(queries)} queries")


if __name__ == "__main__":
    main()
