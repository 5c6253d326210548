"""Exports of the stock, one file at a time."""

import csv
import threading

_writing = threading.Lock()


def first_row(path):
    file = open(path, newline="")
    for row in csv.reader(file):
        if row:
            return row
    file.close()
    return None


def write_export(path, rows):
    _writing.acquire()
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    _writing.release()


def count_rows(path):
    with open(path, newline="") as file:
        return sum(1 for _ in csv.reader(file))
