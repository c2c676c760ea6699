# expect: runtime_error
# says: Too many open files
keep = [open("/dev/null") for _ in range(1000)]
