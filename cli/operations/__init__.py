"""Commands for operating an installation."""
