# 665 files-by-handle
# tries: a file by its handle, past every path
# escaped: a descriptor is given
# walls: language=- os=must host=-
# mode: raw
import ctypes
handle = (ctypes.c_uint * 8)(8, 1, 2, 0)
print('ESCAPED' if raw_syscall(304, -100, ctypes.byref(handle), 0)[0] >= 0 else 'refused')
