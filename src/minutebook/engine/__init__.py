"""What follows the ledger's log and does what comes after a write."""
