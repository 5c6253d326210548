"""Sessions and open questions that a caller sees."""
