# 630 processes
# tries: a process or a thread by every module that can make one
# escaped: anything that runs beside the guest
# walls: language=- os=must host=-
# mode: raw
import os
print('ESCAPED', os.fork())
