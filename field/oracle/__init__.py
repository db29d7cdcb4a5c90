"""The oracle: the functions of `spec`, asked in JSON by a test in any language.

`questions` reads a request and writes its answer. `shapes` derives both, and the published schema,
from the types of the functions. A module for each oracle lists its functions: `assignors`,
`epochs`, `partitioner`, `placement`, `positions`, `producer`, `reset`, `watermarks`; `group` keeps
state between requests.
`vectors` generates random requests, with their answers, as test vectors.
"""
