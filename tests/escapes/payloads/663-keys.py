# 663 keys
# tries: a key ring that others of the same user can read
# escaped: a key is stored
# walls: language=- os=must host=-
# mode: raw
import ctypes
kind, name = ctypes.create_string_buffer(b'user'), ctypes.create_string_buffer(b'x')
print('ESCAPED' if raw_syscall(248, ctypes.byref(kind), ctypes.byref(name), ctypes.byref(name), 1, -3)[0] >= 0 else 'refused')
