#!/usr/bin/env python3
"""A scorer: the fewer words, the better. It gets the run as JSON, and prints a score and its reason."""

import json
import sys

run = json.load(sys.stdin)
words = len(run["answer"].split())
print(json.dumps({"score": max(0.0, 1 - words / 20), "reason": f"{words} words"}))
