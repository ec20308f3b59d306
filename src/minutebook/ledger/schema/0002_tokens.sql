-- Bearer tokens: who may ask over the network. Of the secret only its SHA-256 is here: 256 random bits need no salt.
-- Local to this copy of the ledger: no archive holds them.
CREATE TABLE tokens (
    id           ${text} PRIMARY KEY,
    digest       ${text} NOT NULL,
    role         ${text} NOT NULL CHECK (role IN ('viewer', 'agent', 'coordinator', 'operator')),
    -- an actor's id, registered or not, and how the name was written
    actor        ${text} NOT NULL,
    name         ${text} NOT NULL,
    -- the only project it is good for; NULL is every one
    project_id   ${text} REFERENCES projects (id),
    note         ${text} NOT NULL,
    -- the token that its maker asked with, if one: it cannot outlive that one
    made_with    ${text} REFERENCES tokens (id),
    created_by   ${text} NOT NULL,
    created_at   ${text} NOT NULL,
    expires_at   ${text},
    revoked_at   ${text},
    revoked_by   ${text},
    reason       ${text},
    last_used_at ${text}
);
CREATE UNIQUE INDEX tokens_by_digest ON tokens (digest);
CREATE INDEX tokens_by_actor ON tokens (actor, id);
CREATE INDEX tokens_by_maker ON tokens (made_with) WHERE made_with IS NOT NULL;
