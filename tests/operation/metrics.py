"""Reads metrics on standard input with Prometheus's own parser and says what is in them, as JSON.

Fails if they break the format or its conventions, or if a histogram does not count from below.
"""

import json
import math
import sys

from prometheus_client.parser import text_string_to_metric_families

text = sys.stdin.read()
samples = {}
names = set()
for family in text_string_to_metric_families(text):
    assert family.documentation.endswith("."), family.name
    assert family.type in {"counter", "gauge", "histogram"}, family
    # The parser cuts _total off what is a counter.
    declared = f"{family.name}_total" if family.type == "counter" else family.name
    assert declared.startswith(("pmcp_", "process_")), declared
    assert declared not in names, f"{declared} comes twice"
    names.add(declared)
    assert (family.type == "counter") == (f"# TYPE {declared} counter" in text), declared
    buckets = {}
    for sample in family.samples:
        key = (sample.name, tuple(sorted(sample.labels.items())))
        assert key not in samples, f"{key} comes twice"
        samples[key] = sample.value
        assert math.isfinite(sample.value) and sample.value >= 0, key
        if sample.name.endswith("_bucket"):
            labels = dict(sample.labels)
            bound = float(labels.pop("le"))
            buckets.setdefault(tuple(sorted(labels.items())), []).append((bound, sample.value))
    for labels, counts in buckets.items():
        assert counts == sorted(counts), f"{family.name} {labels} does not rise: {counts}"
        bounds, values = zip(*counts)
        assert list(values) == sorted(values), f"{family.name} {labels} does not count from below"
        assert bounds[-1] == math.inf
        assert samples[(f"{family.name}_count", labels)] == values[-1], labels
        assert (samples[(f"{family.name}_sum", labels)] > 0) == (values[-1] > 0), labels

json.dump([[name, dict(labels), value] for (name, labels), value in samples.items()], sys.stdout)
