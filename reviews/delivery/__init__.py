"""Where the report of a review goes: a folder, a webhook, an e-mail."""
