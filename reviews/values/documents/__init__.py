"""Documents as values: prose, headings, links and code words, with their lines. Pure."""
