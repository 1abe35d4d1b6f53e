# 629 send-a-descriptor
# tries: the channel used as a socket: sendmsg, recvmsg, shutdown, getpeername
# escaped: a descriptor or a name through the channel
# walls: language=- os=must host=-
# mode: raw
import array
import socket
s = socket.socket(fileno=3)
s.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [3]))])
print('ESCAPED')
