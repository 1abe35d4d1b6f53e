# 632 threads
# tries: a thread by the threading module
# escaped: anything that runs beside the guest
# walls: language=- os=must host=-
# mode: raw
import threading
t = threading.Thread(target=print, args=('ESCAPED',))
t.start()
t.join()
