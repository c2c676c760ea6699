# expect: timeout
# says: longer than
# wall: 0.5
while True:
    pass
