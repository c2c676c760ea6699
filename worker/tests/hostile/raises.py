# expect: runtime_error ValueError: line three
x = 1
raise ValueError("line three")
