--- sessions/plan: writes the next step, or the end, if there was no other plan since the view was taken.
--- KEYS: session dialog events journal turns board attachments locks*
--- ARGV: expected plan
--- USES: view planning changes
--- ANSWERS: planned(view, numbers) outdated(view) inactive(view) missing
--- GUARANTEE: compare-and-set on the session's version: a step planned twice exists once.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if status ~= 'active' then return view(session, turns, 'inactive') end
if known_field(session, 'version') ~= expected then return view(session, turns, 'outdated') end
local keys = { session = session, dialog = dialog, events = events, journal = journal, turns = turns, board = board, attachments = attachments }
local numbers = apply_plan(keys, locks, cjson.decode(plan))
return view(session, turns, 'planned', numbers)
