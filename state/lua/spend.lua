--- spend: books what an attempt has spent whose turn went on without it, or was dropped.
--- KEYS: session journal turns
--- ARGV: number token spent
--- ANSWERS: booked(view) missing
--- BOOKS: `spent`, the accounts of this attempt and of others it has found; the view tells what was new.
--- GUARANTEE: what one attempt has spent is booked once, whoever tells it and however often. For a turn that was written
--- more than 64 turns ago nothing is booked: nobody knows any more who has spent what in it.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local booked = book_late({ session = session, journal = journal, turns = turns }, number, token, spent)
return view(session, turns, 'booked', nil, booked)
