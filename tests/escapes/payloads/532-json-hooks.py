# 532 json-hooks
# tries: hooks of the JSON coder get the scanner, its memo and private functions
# escaped: a library function is handed out with its globals
# walls: language=must os=backstop host=-
# mode: code
import json
d = json.JSONDecoder(object_hook=lambda o: o)
for thing in (d.scan_once, d.parse_object, d.parse_array, d.parse_string, json.JSONEncoder().iterencode({})):
    for name in ('__globals__', '__code__', '__closure__', '__defaults__', '__self__', 'gi_frame', 'gi_code'):
        if hasattr(thing, name):
            print('ESCAPED', thing, name)
try:
    json.JSONDecoder.scan_once = print
    print('ESCAPED')
except Exception:
    pass
