"""What a node is, and what on it spoils a measurement.

In: files of the kernel, the variables of a process. Out: facts as JSON values, and findings: what was found, what it
does to the times, what to do. Read in this order: `kernel` (one file of the kernel), `node` (all facts of a node),
`interfaces`, `networks`, `traffic` (what joins nodes and what it carried), `caches`, `container`, `mpi`; then
`finding`, `findings`, `mixed_nodes`; `core_load` and `ports`, what happens while a launch runs; `at_work`, who is at
work now; and `checks`, the lines of `doctor` about the node.
"""
