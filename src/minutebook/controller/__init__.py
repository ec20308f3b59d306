"""The one write path: gather, judge, record, apply, append.

`write` judges what callers ask for, and `accept` or `hold` does what the verdict says; `review` settles
proposals; `change` carries out acts on a memory that stands; `revert` undoes verdicts; `erase` takes words
away for good. All of them end in `record`.
"""
