# 634 memory-of-others
# tries: another process read or written through /proc, ptrace's cousins and shared memory
# escaped: memory that is not ours
# walls: language=- os=must host=-
# mode: raw
import ctypes
buffer = ctypes.create_string_buffer(8)
class V(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
v = V(ctypes.addressof(buffer), 8)
got, error = raw_syscall(310, 1, ctypes.byref(v), 1, ctypes.byref(v), 1, 0)
print('ESCAPED', got)
