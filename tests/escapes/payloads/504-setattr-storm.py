# 504 setattr-storm
# tries: names that matter, stored by setattr, delattr and __setattr__ on classes and instances
# escaped: the interpreter believes one of them
# walls: language=must os=backstop host=-
# mode: code
class A:
    pass
names = ['__class__', '__bases__', '__mro__', '__dict__', '__call__', '__getattr__', '__match_args__', '__slots__',
         '__reduce_ex__', '__instancecheck__', '__set_name__', '__del__', '__subclasshook__', '<private attributes>']
for name in names:
    for target in (A, A()):
        for write in (setattr, lambda o, n, v: o.__setattr__(n, v), lambda o, n, v: object.__setattr__(o, n, v)):
            try:
                write(target, name, lambda *a: print)
            except Exception:
                continue
            print('ESCAPED', name, target)
