# 621 seccomp-map-kinds
# tries: mmap with shared, validated, huge, droppable and growing mappings, of the channel too
# escaped: memory shared with anybody, or past the cap
# walls: language=- os=must host=-
# mode: raw
for flags in (0x21, 0x23, 0x01, 0x03, 0x40022, 0x2, 0x12, 0x0, 0x20, 0x80021):
    for fd in (-1, 3, 0):
        got, error = raw_syscall(NR['mmap'], 0, 4096, 3, flags, fd, 0)
        if got > 0:
            print('ESCAPED', hex(flags), fd)
held = 0
for flags in (0x28, 0x122, 0x4022, 0x22):
    for i in range(40):
        got, error = raw_syscall(NR['mmap'], 0, 64 << 20, 3, flags, -1, 0)
        held += got > 0
if held * 64 > 256 + 128:
    print('ESCAPED', held * 64, 'MiB')
