"""One line of an alignment document: characters, numerals, vocabulary."""
