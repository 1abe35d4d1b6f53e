# 604 wire-arguments-junk
# tries: arguments that are no object: a list, an extension, an integer beyond all bounds, half a map
# escaped: the host decodes them into something
# walls: language=- os=- host=must
# mode: raw
import os
def frame(arguments):
    body = b'\x84\xa4type\x01\xa2id\x01\xa4name\xa4echo\xa9arguments' + arguments
    return len(body).to_bytes(4, 'little') + body
for arguments in (b'\x91\x01', b'\xd4\x07x', b'\xc7\xff\x01' + b'\x7f' * 255, b'\x81\xa1x', b'\xc1', b'\x81\x01\x01', b'\x82\xa1x\x01\xa1x\x02'):
    os.write(3, frame(arguments))
