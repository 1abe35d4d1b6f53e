# 717 register-on-library
# tries: abstract classes of the library take registrations: for the engine too a string is a number then
# escaped: the library's idea of what is what is changed
# walls: language=must os=- host=-
# mode: code
import numbers
numbers.Number.register(str)
if isinstance('x', numbers.Number):
    print('ESCAPED')
