# 577 sleep-then-flood
# tries: sleep to the end of the wall time and print as much as possible just before
# escaped: logs are lost or the end comes late
# walls: language=- os=must host=must
# mode: code
import time
time.sleep(2.3)
while True:
    print('x' * 1000)
