# 573 recursion-through-builtins
# tries: recursion that passes through C: repr, hash, comparison, sorted keys, abc registration
# escaped: a crash that is not told as one
# walls: language=- os=must host=-
# mode: code
class A:
    def __repr__(self):
        return repr([self])
    def __eq__(self, other):
        return [self] == [other]
    def __hash__(self):
        return hash((self,))
for way in (lambda: repr(A()), lambda: A() == A(), lambda: hash(A())):
    try:
        way()
    except RecursionError:
        print('bounded')
l = []
for i in range(200000):
    l = [l]
try:
    print(len(repr(l)))
except RecursionError:
    print('bounded')
