"""Tests of the page to talk in a browser: a package, so that its services end with its last test."""
