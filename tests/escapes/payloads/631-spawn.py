# 631 spawn
# tries: posix_spawn and its vfork
# escaped: a program started
# walls: language=- os=must host=-
# mode: raw
import os
os.posix_spawn('/bin/true', ['true'], {})
print('ESCAPED')
