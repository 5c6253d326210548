"""Search in the catalogue."""


def find(connection, word, limit=20):
    query = "SELECT id FROM items WHERE name LIKE ? LIMIT ?"
    return connection.execute(query, (f"%{word}%", limit)).fetchall()
