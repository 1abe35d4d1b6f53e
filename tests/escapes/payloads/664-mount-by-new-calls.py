# 664 mount-by-new-calls
# tries: a file system by fsopen, fsmount and move_mount
# escaped: a descriptor is given
# walls: language=- os=must host=-
# mode: raw
import ctypes
name = ctypes.create_string_buffer(b'proc')
print('ESCAPED' if raw_syscall(430, ctypes.byref(name), 0)[0] >= 0 else 'refused')
