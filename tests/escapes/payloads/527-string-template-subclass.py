# 527 string-template-subclass
# tries: Template takes its pattern from the class: patterns that backtrack or name groups oddly
# escaped: an attribute walk by substitution, or a run without end
# walls: language=must os=must host=-
# mode: code
import string
class T(string.Template):
    idpattern = r'(?:[\w.\[\]]+)+'
print(T('${a.__class__.__mro__} $b').safe_substitute(a=1, b=print))
class U(string.Template):
    pattern = r'(?P<escaped>(a+)+$)|(?P<named>b)|(?P<braced>c)|(?P<invalid>d)'
U('a' * 40 + '!').safe_substitute()
result = 'end'
