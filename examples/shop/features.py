"""Write train.csv: the features of the retrieved products of each judged query, with their grades."""

import csv

from engine import FEATURES, retrieve


def write_table(path, grades):
    """Write a row for each retrieved product that has a grade: {query: {id: grade}}."""
    rows = 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["query", "doc", *FEATURES, "grade"])
        for query, labels in grades.items():
            for product in retrieve(query):
                if product["id"] in labels:
                    values = [product["features"][name] for name in FEATURES]
                    table.writerow([query, product["id"], *values, labels[product["id"]]])
                    rows += 1
    print(f"{path}: {rows} products of {len(grades)} queries")


if __name__ == "__main__":
    grades = {}
    with open("judgments.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            grades.setdefault(row["query"], {})[row["doc"]] = int(row["grade"])
    write_table("train.csv", grades)
