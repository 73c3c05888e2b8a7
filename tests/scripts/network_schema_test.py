#!/usr/bin/env python3
"""The JSON schema of networks in YAML takes our examples, as an editor reads it, and refuses usual mistakes.

Exit status 77 where Python's jsonschema or yaml is absent (Debian: python3-jsonschema, python3-yaml).
"""

import copy
import json
import os
import sys

try:
    import jsonschema
    import yaml
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples", "networks")


def main():
    with open(os.path.join(ROOT, "docs", "formats", "network.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    names = sorted(os.listdir(EXAMPLES))
    assert len(names) >= 4, names
    for name in names:
        with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
            network = yaml.safe_load(file)
        for error in validator.iter_errors(network):
            sys.exit(f"{name}: {error.json_path}: {error.message}")
    small = {"input": {"height": 8, "width": 8, "channels": 3}, "classes": 4,
             "layers": ["max_pool", {"conv": 8}, {"conv": {"filters": "$n * 2", "kernel": [3, 1]}}, {"logits": None}]}
    assert validator.is_valid(small)
    mistakes = {
        "unknown layer": lambda net: net["layers"].append({"convv": 3}),
        "word that wants options": lambda net: net["layers"].append("conv"),
        "unknown option": lambda net: net["layers"].append({"conv": {"filters": 3, "kernal": 3}}),
        "missing option": lambda net: net["layers"].append({"conv": {"kernel": 3}}),
        "number out of range": lambda net: net["layers"].append({"conv": 0}),
        "word for a number": lambda net: net["layers"].append({"dense": "many"}),
        "two types in one layer": lambda net: net["layers"].append({"conv": 3, "dense": 3}),
        "one branch": lambda net: net["layers"].append({"add": [[]]}),
        "unknown key": lambda net: net.update(clases=3),
        "half an input": lambda net: net["input"].pop("width"),
        "no layers": lambda net: net.pop("layers"),
    }
    for what, break_it in mistakes.items():
        network = copy.deepcopy(small)
        break_it(network)
        assert not validator.is_valid(network), what
    print(f"{len(names)} examples, {len(mistakes)} mistakes")


if __name__ == "__main__":
    main()
