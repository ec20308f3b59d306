-- What the engine keeps beside the ledger.

-- How far each follower of the log has come, for each part of its work that has a place of its own.
CREATE TABLE positions (
    follower ${text} NOT NULL,
    part     ${text} NOT NULL,
    seq      ${int} NOT NULL,
    at       ${text} NOT NULL,
    PRIMARY KEY (follower, part)
);
