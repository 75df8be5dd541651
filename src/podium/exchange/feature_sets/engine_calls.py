"""Engine calls: a shell script that uploads features and models, logs features, and searches."""

from __future__ import annotations

import json

from podium.exchange.feature_sets.declared_features import FeatureSet

_HEAD = """\
#!/bin/sh
# Calls of {engine}, with curl. Settings are environment variables: ENGINE (address), INDEX,
# SIZE (documents to log), WINDOW (documents that the model ranks){more}.
set -eu
engine=${{ENGINE:-{address}}} index=${{INDEX:-products}} size=${{SIZE:-100}} window=${{WINDOW:-100}}
here=$(dirname "$0")
text() {{ printf '%s' "$1" | tr '\\n\\t\\r' '   ' | sed 's/\\\\/\\\\\\\\/g; s/"/\\\\"/g'; }}
send() {{ curl --silent --show-error --fail-with-body "$@"; }}
json='Content-Type: application/json'
"""

_USAGE = """\
log-all)
    # A file with a query per line: id, tab, text.
    tab=$(printf '\\t')
    while IFS="$tab" read -r qid words || [ -n "$qid" ]; do
        sh "$0" log "$qid" "$words" </dev/null
    done <"$2" ;;
*)
    echo "usage: sh calls.sh features | log ID TEXT{documents} | log-all FILE | model | search TEXT" >&2
    exit 2 ;;
esac
"""

_ELASTICSEARCH = """\
params() {{ printf '{{"keywords":"%s"{request}}}' "$(text "$1")"{values}; }}
case ${{1:-}} in
features)
    send -X PUT "$engine/_ltr" -H "$json" >/dev/null 2>&1 || true # the store may be there already
    send -X PUT "$engine/_ltr/_featureset/{set}" -H "$json" --data-binary "@$here/features.json"; echo ;;
model)
    send -X POST "$engine/_ltr/_featureset/{set}/_createmodel" -H "$json" \\
        --data-binary "@$here/model.json"; echo ;;
log)
    qid=$2 words=$3; shift 3
    query='{match_before}'$(text "$words")'{match_after}'
    if [ $# -gt 0 ]; then # these documents instead of the first ones
        ids=$(for id in "$@"; do printf '"%s",' "$(text "$id")"; done)
        query='{{"ids":{{"values":['${{ids%,}}']}}}}' size=$#
    fi
    sltr='{{"sltr":{{"_name":"logged","featureset":"{set}","params":'$(params "$words")'}}}}'
    log='{{"ltr_log":{{"log_specs":{{"name":"'$(text "$qid")'","named_query":"logged"}}}}}}'
    body='{{"size":'$size',"_source":false,"query":{{"bool":{{"must":'$query',"filter":['$sltr']}}}},"ext":'$log'}}'
    send -X POST "$engine/$index/_search" -H "$json" --data-binary "$body"; echo ;;
search)
    query='{match_before}'$(text "$2")'{match_after}'
    sltr='{{"sltr":{{"model":"{model}","params":'$(params "$2")'}}}}'
    rescore='{{"window_size":'$window',"query":{{"rescore_query":'$sltr',"query_weight":0}}}}'
    body='{{"query":'$query',"rescore":'$rescore'}}'
    send -X POST "$engine/$index/_search" -H "$json" --data-binary "$body"
    echo ;;
"""

_SOLR = """\
params() {{ printf 'efi.keywords="%s"{request}' "$(text "$1")"{values}; }}
case ${{1:-}} in
features)
    send -X PUT "$engine/$index/schema/feature-store" -H "$json" --data-binary "@$here/features.json"; echo ;;
model) # reload the collection afterwards
    send -X PUT "$engine/$index/schema/model-store" -H "$json" --data-binary "@$here/model.json"; echo ;;
log)
    qid=$2 words=$3; shift 3
    if [ $# -gt 0 ]; then # these documents instead of the first ones
        ids=$(printf '%s,' "$@")
        set -- --data-urlencode 'q=*:*' --data-urlencode "fq={{!terms f=id}}${{ids%,}}" -d "rows=$#"
    else
        set -- --data-urlencode "q=$words" -d defType=edismax --data-urlencode 'qf={fields}' -d "rows=$size"
    fi
    send -G "$engine/$index/select" "$@" -d wt=json -d indent=false -d echoParams=explicit \\
        --data-urlencode "qid=$qid" --data-urlencode "fl=id,score,[features store={set} $(params "$words")]" |
        tr -d '\\n'; echo ;;
search)
    send -G "$engine/$index/select" -d wt=json --data-urlencode "q=$2" -d defType=edismax \\
        --data-urlencode 'qf={fields}' --data-urlencode 'fl=id,score' \\
        --data-urlencode "rq={{!ltr model={model} reRankDocs=$window $(params "$2")}}" ;;
"""

_VESPA = """\
app=${{APP:-app}}
find_documents() {{
    send -G "$engine/search/" --data-urlencode "yql=select * from $index where userQuery()" \\
        --data-urlencode "query=$1" -d "ranking.profile=$2" -d "hits=$3"{values}
}}
case ${{1:-}} in
features|model) # a rank profile has a file in a folder beside the schema; models have their own folder
    mkdir -p "$app/schemas/$index" "$app/models"
    cp "$here"/*.profile "$app/schemas/$index/"
    [ ! -f "$here/{model}.json" ] || cp "$here/{model}.json" "$app/models/"
    vespa deploy --wait 300 "$app" ;;
log)
    printf '{{"qid":"%s","response":%s}}\\n' "$(text "$2")" \\
        "$(find_documents "$3" {set} "$size" | tr -d '\\n')" ;;
search)
    find_documents "$2" {model} 10 ;;
"""


def engine_calls(features: FeatureSet, engine: str, model: str) -> str:
    """Return the shell script for an engine.

    Parameters
    ----------
    features
        The declared features.
    engine
        "elasticsearch", "opensearch", "solr" or "vespa".
    model
        The name of the model in the engine.
    """
    if engine == "solr":
        body, address, request, documents = (
            _SOLR,
            "http://localhost:8983/solr",
            " efi.{0}=%s",
            " [DOC...]",
        )
    elif engine == "vespa":
        body, address, request, documents = _VESPA, "http://localhost:8080", "", ""
    else:
        body, address, documents = _ELASTICSEARCH, "http://localhost:9200", " [DOC...]"
        request = ',"{0}":%s'
    parameters = features.request_parameters()
    before, after = _match(features.text_fields())
    fields = {
        "set": features.name.replace("-", "_") if engine == "vespa" else features.name,
        "model": model,
        "fields": " ".join(features.text_fields()),
        "request": "".join(request.format(parameter) for parameter in parameters),
        "values": _values(parameters, engine),
        "match_before": before,
        "match_after": after,
    }
    more = ", APP (the application's folder)" if engine == "vespa" else ""
    more += "".join(f", REQUEST_{parameter}" for parameter in parameters)
    head = _HEAD.format(engine=engine, address=address, more=more)
    return head + body.format(**fields) + _USAGE.format(documents=documents)


def _values(parameters: list[str], engine: str) -> str:
    """Return the words of the shell for numbers of the request; each is 0 unless a variable has it."""
    if engine == "vespa":
        return "".join(
            f' \\\n        -d "input.query({p})=${{REQUEST_{p}:-0}}"' for p in parameters
        )
    return "".join(f' "${{REQUEST_{parameter}:-0}}"' for parameter in parameters)


def _match(fields: list[str]) -> tuple[str, str]:
    """Return what stands before and after the words in the query that finds documents."""
    mark = "WORDS"
    if not fields:
        query = json.dumps({"simple_query_string": {"query": mark}})
    else:
        query = json.dumps({"multi_match": {"query": mark, "fields": fields}})
    before, after = query.replace(" ", "").split(mark)
    return before, after
