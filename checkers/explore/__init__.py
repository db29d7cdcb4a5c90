"""Exploring a model by hand: step, go back, branch, search, replay under another variant.

- `expression`: the conditions that are typed, such as `quorum.leader == 1 and not StrongIsr`;
  `parser` reads them, and `evaluation` computes their values.
- `moves`: what each rule can do in a state, and which guard blocks it.
- `session`: the tree of states that were visited.
- `what_if`: the same steps under another variant.
- `seek`: the nearest state that satisfies a condition, found by an engine.
- `protocol`: requests and answers in JSON. `server` carries them to the page
  `traces/page/explore.html`.
- `terminal`: the same session, typed.
"""
