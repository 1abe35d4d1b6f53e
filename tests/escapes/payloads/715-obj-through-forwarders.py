# 715 obj-through-forwarders
# tries: a generic alias of an AttributeError gives the error's `obj`
# escaped: an object that the guard keeps back
# walls: language=must os=backstop host=-
# mode: code
import types
try:
    [].nothing
except AttributeError as e:
    error = e
holder = types.GenericAlias(error, ())
try:
    print('ESCAPED', holder.obj)
except AttributeError:
    pass
