-- What turns used, for each session, day (since 1970, in UTC), model and API key. `cost` is in billionths of a USD, `waited` the
-- microseconds in which people were waited for. Rows stay when their session is deleted.
CREATE TABLE usage (
    session INTEGER NOT NULL,
    day INTEGER NOT NULL,
    model TEXT NOT NULL,
    key_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    workspace TEXT NOT NULL,
    turns INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    waited INTEGER NOT NULL,
    PRIMARY KEY (session, day, model, key_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_day ON usage (day);

-- Sessions from before count as a whole on the day of their last event.
INSERT INTO usage
SELECT
    number, last_at / 86400000000, coalesce(model, ''), '', agent, workspace, 0,
    min(coalesce(json_extract(CAST(usage AS TEXT), '$.input_tokens'), 0), 1099511627776),
    min(coalesce(json_extract(CAST(usage AS TEXT), '$.output_tokens'), 0), 1099511627776),
    min(coalesce(json_extract(CAST(usage AS TEXT), '$.cache_read_tokens'), 0), 1099511627776),
    min(coalesce(json_extract(CAST(usage AS TEXT), '$.cache_write_tokens'), 0), 1099511627776),
    min(coalesce(json_extract(CAST(usage AS TEXT), '$.reasoning_tokens'), 0), 1099511627776),
    CAST(round(min(cost_usd, 1000000) * 1e9) AS INTEGER), 0
FROM sessions
WHERE CAST(usage AS TEXT) <> '{}' OR cost_usd > 0;

-- When an ask was answered.
ALTER TABLE asks ADD COLUMN closed_at INTEGER;
CREATE INDEX asks_by_closing ON asks (session, closed_at);
