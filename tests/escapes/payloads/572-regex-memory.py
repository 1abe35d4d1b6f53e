# 572 regex-memory
# tries: a pattern with counted groups that takes memory while it compiles
# escaped: memory or processor time past the cap
# walls: language=- os=must host=-
# mode: code
import re
pattern = '(?:a{0,60000}){0,60000}' * 50
try:
    re.compile(pattern)
except Exception as e:
    print(type(e).__name__)
re.match('(?:(?:a|a)+)+$', 'a' * 40 + 'b')
