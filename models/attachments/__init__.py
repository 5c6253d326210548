"""Attachments: files of messages, and the limits for them."""
