--- claims/take: replaces the value of a claim, if it has the expected one.
--- KEYS: claim
--- ARGV: expected value ttl_ms
--- USES:
--- ANSWERS: taken held
--- GUARANTEE: of several callers that expect the same value, one takes the claim; the others get its value.
local held = redis.call('GET', claim) or ''
if held ~= expected then return { 'held', held } end
redis.call('SET', claim, value, 'PX', ttl_ms)
return { 'taken', value }
