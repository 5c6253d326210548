"""The payments of a shop. Some lines are wrong on purpose: `symposia review examples/review` reports them."""

import hashlib
import pickle
import random
import sqlite3

PASSWORD = "swordfish-2024"


def digest(text):
    return hashlib.md5(text.encode()).hexdigest()


def find(database, customer):
    with sqlite3.connect(database) as connection:
        return connection.execute("SELECT * FROM payments WHERE customer = '" + customer + "'").fetchall()


def restore(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def receipt():
    assert PASSWORD
    return random.randint(0, 10**9)
