# 662 memfd-and-exec
# tries: a file in memory, to run it
# escaped: a descriptor is given
# walls: language=- os=must host=-
# mode: raw
import ctypes
name = ctypes.create_string_buffer(b'x')
print('ESCAPED' if raw_syscall(319, ctypes.byref(name), 0)[0] >= 0 else 'refused')
