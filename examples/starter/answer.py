"""An agent that is a program: it reads the turn as JSON and prints its message."""

import json
import sys

turn = json.load(sys.stdin)
words = sum(len(message["content"].split()) for message in turn["messages"])
print(f"{words} words so far.")
