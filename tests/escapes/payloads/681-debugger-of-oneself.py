# 681 debugger-of-oneself
# tries: to be traced by the parent, and to look at others by kcmp
# escaped: a call goes through
# walls: language=- os=must host=-
# mode: raw
if raw_syscall(101, 0, 0, 0, 0)[0] == 0:
    print('ESCAPED')
