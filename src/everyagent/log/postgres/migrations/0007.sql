-- What turns used, for each session, day (since 1970, in UTC), model and API key. `cost` is in billionths of a USD, `waited` the
-- microseconds in which people were waited for. Rows stay when their session is deleted.
CREATE TABLE usage (
    session bigint NOT NULL,
    day bigint NOT NULL,
    model text NOT NULL,
    key_id text NOT NULL,
    agent text NOT NULL,
    workspace text NOT NULL,
    turns bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost bigint NOT NULL,
    waited bigint NOT NULL,
    PRIMARY KEY (session, day, model, key_id)
) WITH (fillfactor = 60);
CREATE INDEX usage_by_day ON usage (day);

-- Sessions from before count as a whole on the day of their last event.
INSERT INTO usage
SELECT
    number, last_at / 86400000000, coalesce(model, ''), '', agent, workspace, 0,
    least(coalesce((used ->> 'input_tokens')::bigint, 0), 1099511627776),
    least(coalesce((used ->> 'output_tokens')::bigint, 0), 1099511627776),
    least(coalesce((used ->> 'cache_read_tokens')::bigint, 0), 1099511627776),
    least(coalesce((used ->> 'cache_write_tokens')::bigint, 0), 1099511627776),
    least(coalesce((used ->> 'reasoning_tokens')::bigint, 0), 1099511627776),
    round(least(cost_usd, 1000000) * 1e9)::bigint, 0
FROM (SELECT *, convert_from(usage, 'UTF8')::json AS used FROM sessions) AS sessions
WHERE used::text <> '{}' OR cost_usd > 0;

-- When an ask was answered.
ALTER TABLE asks ADD COLUMN closed_at bigint;
CREATE INDEX asks_by_closing ON asks (session, closed_at);
