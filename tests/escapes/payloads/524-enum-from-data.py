# 524 enum-from-data
# tries: enums made from data with names that are methods, descriptors or engine words
# escaped: a member that is a method in disguise
# walls: language=must os=backstop host=-
# mode: code
import enum
for names in ({'__call__': print}, [('__get__', print)], '_missing_ A', ['__reduce_ex__'], {'mro': 1}, [('A', 1), ('__class__', int)],
              {'_generate_next_value_': print, 'A': 1}, iter([('__init__', print)])):
    for kind in (enum.Enum, enum.IntFlag, enum.StrEnum):
        try:
            X = kind('X', names)
            if list(X):
                print('ESCAPED', X, list(X))
        except Exception:
            pass
for options in ({'module': 'sys'}, {'qualname': 'x'}, {'type': type(print)}, {'type': ExceptionGroup}):
    try:
        X = enum.Enum('X', 'A B', **options)
        if X.__module__ != '__main__':
            print('ESCAPED', X.__module__)
    except Exception:
        pass
