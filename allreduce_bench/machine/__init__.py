"""Facts about a node, and findings about what disturbs measurements on it.

In: files of the kernel, the variables of a process. Out: facts as JSON values, and findings: text, effect on the
times, advice. Read in this order: `kernel` (one file of the kernel), `node` (all facts of a node), `interfaces`,
`networks`, `traffic` (links between nodes and their traffic), `caches`, `container`, `mpi`; then `finding`,
`findings`, `mixed_nodes`; `core_load` and `ports` (events during a launch); `at_work` (processes that are busy now);
and `checks`, the lines of `doctor` about the node.
"""
