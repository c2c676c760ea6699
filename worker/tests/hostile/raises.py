# expect: runtime_error
# says: ValueError: line three
x = 1
raise ValueError("line three")
