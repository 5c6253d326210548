"""Log records of Symposia's processes: redaction, JSON lines, setup."""
