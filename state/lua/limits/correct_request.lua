--- limits/correct_request: corrects an admission to the real requests and tokens of a turn.
--- KEYS: rate
--- ARGV: second requests tokens
--- USES:
--- ANSWERS: settled gone
--- GUARANTEE: `requests` and `tokens` are differences; for a second that has passed they change nothing.
--- It is an estimate: sent twice, because an answer was lost, it is wrong by one turn for a minute.
local entry = redis.call('HGET', rate, second)
if not entry then return { 'gone' } end
local known_requests, known_tokens = string.match(entry, '^(%d+) (%d+)$')
redis.call('HSET', rate, second, string.format('%d %d', math.max(known_requests + requests, 0), math.max(known_tokens + tokens, 0)))
return { 'settled' }
