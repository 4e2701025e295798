"""What a user of the library never imports: the demo, the data sets, the workloads, and the benchmarks over them.

The rest of `phantoms` knows nothing of this package; the command line imports it when a command needs it.
"""
