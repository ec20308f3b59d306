-- Providers that an operator enabled, each as it was then. Of this copy of the ledger alone: what an archive brings
-- enables nothing. Who enabled and disabled what is in the event log.
CREATE TABLE providers (
    kind       ${text} NOT NULL CHECK (kind IN ('embedder', 'extractor', 'model', 'importer')),
    name       ${text} NOT NULL,
    package    ${text} NOT NULL,
    target     ${text} NOT NULL,
    enabled_by ${text} NOT NULL,
    enabled_at ${text} NOT NULL,
    PRIMARY KEY (kind, name)
);
-- Vectors lie in one space, and one model is asked: whoever races.
CREATE UNIQUE INDEX providers_alone ON providers (kind) WHERE kind IN ('embedder', 'model');
