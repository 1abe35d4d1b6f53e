# 674 grow-by-brk
# tries: the heap moved far up
# escaped: more than the run may have is there
# walls: language=- os=must host=-
# mode: raw
start, _ = raw_syscall(NR['brk'], 0)
end, _ = raw_syscall(NR['brk'], start + (2 << 30))
print('ESCAPED' if end >= start + (1 << 30) else 'bounded')
