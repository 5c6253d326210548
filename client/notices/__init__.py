"""Notices to people about their questions, by e-mail and chat, and the signed links that answer them."""
