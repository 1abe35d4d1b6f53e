# 576 allocate-in-pieces
# tries: memory held in many small objects, then MemoryError caught in a loop
# escaped: the host slows, the end is told wrongly
# walls: language=- os=must host=must
# mode: code
keep = []
while True:
    try:
        keep.append({str(len(keep)): [len(keep)]})
    except MemoryError:
        keep.append(None)
