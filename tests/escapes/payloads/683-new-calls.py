# 683 new-calls
# tries: system calls that kernels after this program know, by their numbers
# escaped: one of them goes through
# walls: language=- os=must host=-
# mode: raw
for number in (470, 480, 500, 511, 600):
    value, error = raw_syscall(number)
    print('ESCAPED' if error != 38 else 'unknown', number)
