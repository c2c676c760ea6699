# expect: timeout longer than
# wall: 0.5
while True:
    pass
