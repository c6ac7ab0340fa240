"""A lab: virtual hosts in one machine, whose links have a known rate.

In: a number of hosts and the rate of each link. Out: a command that runs on the first host, and its exit status. Each
host is a set of Linux namespaces: its own network, name, mounts and shared memory. One link leads from each host to a
bridge in a namespace of its own; the network of the machine is never touched. Read in this order: `lab` (the hosts,
the scripts that make them, and commands inside), `command` (`lab run`, `lab shell`; the part of the demo).
"""
