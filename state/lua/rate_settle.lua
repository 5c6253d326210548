--- rate_settle: puts right what was admitted, once it is known what a turn has asked and taken.
--- KEYS: rate
--- ARGV: second requests tokens
--- ANSWERS: settled gone
--- GUARANTEE: `requests` and `tokens` are differences; a second that is over changes nothing any more.
--- It is an estimate: sent twice, because an answer was lost, it is off by one turn for a minute.
local entry = redis.call('HGET', rate, second)
if not entry then return { 'gone' } end
local asked, cost = string.match(entry, '^(%d+) (%d+)$')
redis.call('HSET', rate, second, string.format('%d %d', math.max(asked + requests, 0), math.max(cost + tokens, 0)))
return { 'settled' }
