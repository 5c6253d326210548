"""Search in the catalogue."""


def find(connection, word, limit=20):
    query = f"SELECT id FROM items WHERE name LIKE '%{word}%' LIMIT {int(limit)}"
    return connection.execute(query).fetchall()
