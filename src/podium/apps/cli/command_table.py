"""The table of commands: their names in the order of ``podium --help``, modules and help lines."""

from __future__ import annotations

from podium.apps.cli.lazy_group import CommandEntry, Entries, GroupEntry

JUDGE_EXAMPLE = """Example, from a pool of documents to training data:

podium judge serve --store judgments.db --pool pool.jsonl --assessors ann,bob

podium judge stats judgments.db

podium judge export judgments.db --features features.txt -o train.txt

podium judge demo needs no files; docs/judging.md explains each step, and the formats of pools."""

COMMANDS: Entries = {
    "evaluate": CommandEntry(
        "evaluate",
        "Evaluate scores on labelled data; several score files are compared with the first.",
    ),
    "metrics": CommandEntry(
        "metrics",
        "List the metrics, or explain one: its convention, and the tables it may be compared with.",
    ),
    "rankers": CommandEntry(
        "rankers",
        "List the rankers, or describe one: its paper, its parameters and what they may be.",
    ),
    "train": CommandEntry("train", "Train a ranker and write it to a model file."),
    "tune": CommandEntry(
        "tune",
        "Train a ranker with every setting of a grid and keep the best on the validation data.",
    ),
    "predict": CommandEntry("predict", "Score documents with a model."),
    "update": CommandEntry("update", "Update a model of cfbrs with new feedback."),
    "explain": CommandEntry(
        "explain",
        "Explain a model: the features it uses, one query's list, or the features that a metric depends on.",
    ),
    "compare": CommandEntry(
        "compare",
        "Train rankers on every fold, compare them on the test queries and write a report.",
    ),
    "reproduce": CommandEntry(
        "reproduce",
        "Run a paper's experiments on your LETOR data and write its tables, figures and claims.",
    ),
    "aggregators": CommandEntry(
        "aggregators", "List the aggregators, or describe one: its paper and its settings."
    ),
    "aggregate": CommandEntry("aggregate", "Combine several rankings into one."),
    "rerank": CommandEntry(
        "rerank",
        "Order the head of each list by a machine's comparisons, within a budget of questions.",
    ),
    "postrank": CommandEntry("postrank", "Apply rules to the lists of a run."),
    "export": CommandEntry(
        "export", "Write a model in the format of a search engine or of another program."
    ),
    "import": CommandEntry("import_", "Convert a model of another program to a .podium file."),
    "serve": CommandEntry("serve", "Serve models and rules over HTTP."),
    "rank": CommandEntry("rank", "Rank JSON lines from stdin to stdout."),
    "demo": CommandEntry(
        "demo", "Search the standard library: features, every ranker compared, rules, a report."
    ),
    "tour": CommandEntry(
        "tour", "Show podium in five minutes: data, a ranker, a test, an explanation and rules."
    ),
    "doctor": CommandEntry(
        "doctor", "Check the installation, and say what to do about each finding."
    ),
    "data": GroupEntry(
        "Look at ranking data, convert it, sample it, split it, partition it.",
        {
            "info": CommandEntry(
                "data", "Show what is in ranking data: counts, labels, list lengths, odd features."
            ),
            "convert": CommandEntry(
                "data",
                "Convert LETOR text or a table to LETOR text (.txt), CSV (.csv, .tsv; text also .gz .xz .bz2 "
                ".zst), Parquet or qrels.",
            ),
            "partition": CommandEntry(
                "data",
                "Write ranking data as a collection: a folder of parts with whole queries, for data that "
                "does not fit into memory.",
            ),
            "sample": CommandEntry(
                "data", "Write random queries of ranking data, all with the same chance."
            ),
            "split": CommandEntry(
                "data",
                "Split data by query into folds, or into train, validation and test.",
            ),
            "from-log": CommandEntry(
                "data_from_log",
                "Turn features that a search engine logged into ranking data.",
            ),
        },
    ),
    "features": GroupEntry(
        "Index text, search it, and compute LETOR's features.",
        {
            "build": CommandEntry(
                "features",
                "Count the terms of documents, field by field, and write them as an index.",
            ),
            "search": CommandEntry("features", "Search an index by BM25."),
            "make": CommandEntry(
                "features", "Make ranking data: LETOR's features of every query's candidates."
            ),
        },
    ),
    "rules": GroupEntry(
        "Rules for post-ranking: list, check, what they cost.",
        {
            "list": CommandEntry("rules", "List the kinds of rules and the keys of each."),
            "schema": CommandEntry(
                "rules", "Print the JSON Schema of rule files, for editors; --json changes nothing."
            ),
            "check": CommandEntry("rules", "Find errors in a rule file before it is served."),
            "report": CommandEntry(
                "rules_report",
                "Say what each rule costs: documents moved, quality, clicks and money lost or gained.",
            ),
            "editor": CommandEntry("rules", "Add a person who may save rules from the page."),
        },
    ),
    "feedback": GroupEntry(
        "What users did with the lists they were shown.",
        {
            "summarise": CommandEntry(
                "feedback",
                "Show what users did: the eight factors and alpha by query and by user class.",
            ),
            "alpha": CommandEntry(
                "feedback",
                "Show feedback without a log: alpha by the size of a block, or of a composition.",
            ),
        },
    ),
    "clicks": GroupEntry(
        "Clicks without position bias: sessions, click models, propensities, what another ranking earns.",
        {
            "sessions": CommandEntry(
                "clicks",
                "Read sessions from logs, count what is wrong with them, and save them.",
            ),
            "fit": CommandEntry(
                "clicks", "Fit click models, and measure them on sessions that were held out."
            ),
            "propensity": CommandEntry(
                "clicks", "Estimate how likely users are to look at each rank, with intervals."
            ),
            "evaluate": CommandEntry(
                "clicks",
                "Estimate what other rankings would have earned, from the clicks of a log.",
            ),
            "report": CommandEntry(
                "clicks",
                "Write a page with pictures of a log: rates, propensities, fit of models, faults.",
            ),
            "interleaving": CommandEntry(
                "experiments",
                "Say which of two models users prefer, by interleaving or an A/B test of podium serve.",
            ),
        },
    ),
    "judge": GroupEntry(
        "Judgments of people: the top k by preferences.",
        {
            "simulate": CommandEntry(
                "judge_simulate",
                "Count the judgments that finding the top k takes, with simulated assessors.",
            ),
            "import": CommandEntry(
                "judge_import",
                "Put queries, documents, assessors and tasks into a store, which is created if it is "
                "missing.",
            ),
            "assess": CommandEntry(
                "judge_assess",
                "Let a machine judge as an assessor, within caps, by any OpenAI-compatible endpoint.",
            ),
            "stats": CommandEntry(
                "judge_stats", "Show what judging cost and how well assessors agree."
            ),
            "agreement": CommandEntry(
                "judge_agreement",
                "Hold a machine assessor against people: agreement, biases, drift, and what people should "
                "still judge.",
            ),
            "export": CommandEntry(
                "judge_export", "Write top-k truth, labels, grades or preferences to a file."
            ),
            "serve": CommandEntry(
                "judge_serve", "Serve the judging web app, and print a personal link for everybody."
            ),
            "links": CommandEntry(
                "judge_links", "Print a new personal link for everybody in a store."
            ),
            "demo": CommandEntry(
                "judge_demo",
                "Try the judging app in the browser, with everyday questions about Python's standard "
                "library.",
            ),
        },
        epilog=JUDGE_EXAMPLE,
    ),
}
