--- turns/book_spending: books the spending of an attempt whose turn continued without it, or was dropped.
--- KEYS: session journal turns
--- ARGV: number token spent
--- USES: view late_spending
--- ANSWERS: booked(view) missing
--- BOOKS: `spent`, the accounts of this attempt and of others it has found; the view has the new part.
--- GUARANTEE: the spending of one attempt is booked once, however often it is sent. For a turn that was written more than
--- 64 turns ago nothing is booked, because its accounts are no longer known.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local booked = book_late({ session = session, journal = journal, turns = turns }, number, token, spent)
return view(session, turns, 'booked', nil, booked)
