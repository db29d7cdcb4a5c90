"""A real broker against the specification, over the network.

- `history`: the requests of a history; `generate` makes one from the specification.
- `worlds`: the states that the broker may be in, given its responses.
- `records`: a partition whose records are produced and fetched.
- `connection`, `security`, `broker`: the connection to it; `translate`: its messages.
- `play`: compares one history step by step; `search`: many, and shortens those that differ.
- `guards`: the guard of the specification that decides; `report`: text, JSON and JUnit.

Needs the extra `broker`.
"""
