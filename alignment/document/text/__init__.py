"""One line of an alignment document: characters and numerals."""
