"""Rules of alignment documents and their findings."""
