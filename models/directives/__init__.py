"""Directives in plain text: the form for people and for models without structured output.

A directive is a line that begins with one of these words, in capitals:

    NEXT: coder, tester          the next speakers, in this order        } in a
    TOGETHER: coder, tester      the next speakers, side by side         } decision
    INSTRUCTION: keep it short   for all of them                         } turn
    INSTRUCTION coder: write it  for one of them                         }
    DONE:                        the orchestrator is satisfied; all text from here }
    the whole answer             to the end is the answer to the task              }
    STALLED: nobody knows        no progress since the last decision     }
    APPROVED: reads well         the navigator of a pair is satisfied, in a review turn
    ITEM: check the logs         a new item for the board                } in a
    ITEM tester: check the logs  a new item for one role or participant  } swarm
    HAND OFF: tester             another participant continues, with the item in a swarm
    ASK ben: May I delete it?    a question to a person: all text from here to the end

A decision is read in other wordings, too, if it has one meaning: `next: coder`, `{"next": "coder"}`, a name alone, or
a text that names one participant ("The next speaker should be coder."). If it has several meanings, the decision says
what is wrong with it.

An `ASK` line must name a participant of kind `human`, an approver or an observer; otherwise it is text. The text before
it is the message. Sessions with memory also read the lines of `models/memory/learned.py`, and those
with long-term memory the lines of `models/memory/recollections.py`.

An answer that is nothing but `PASS`, with at most one sentence behind, says nothing, in any mode. An item continues
until the next blank line or directive, an instruction until the next directive. Markdown around a directive (bold,
bullets, headings) does no harm; fenced code is not read, unless the whole answer is in one fence.

The time to read a text grows with its length only, also for a megabyte of `#`.
"""

from .questions import read_question
from .reading import read_directives

__all__ = ["read_directives", "read_question"]
