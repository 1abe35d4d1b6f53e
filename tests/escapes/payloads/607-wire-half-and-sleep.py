# 607 wire-half-and-sleep
# tries: half of a frame, then silence to the end
# escaped: the run outlives its wall time
# walls: language=- os=- host=must
# mode: raw
import os
import time
os.write(3, (1000).to_bytes(4, 'little') + b'x' * 500)
time.sleep(100)
