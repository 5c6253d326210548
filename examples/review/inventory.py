"""The stock of a shop. Some lines are wrong on purpose: `symposia review examples/review` reports them."""

import json
import os
import subprocess


def load(path):
    try:
        with open(path) as file:
            return eval(file.read())
    except:
        return {}


def count(items, name):
    total = len(items)
    return sum(item == name for item in items)


def label(item):
    return f"in stock"


def archive(folder):
    subprocess.call(f"tar czf backup.tgz {folder}", shell=True)


def report(items):
    for name in sorted(itmes):
        print(name, count(items, name))
