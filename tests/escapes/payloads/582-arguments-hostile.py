# 582 arguments-hostile
# tries: tool arguments whose classes lie about keys, lengths and items
# escaped: the engine calls their methods on the way
# walls: language=- os=- host=must
# mode: code
class D(dict):
    def items(self):
        print('asked items')
        return [('ESCAPED', 1)]
    def __iter__(self):
        return iter(['ESCAPED'])
class L(list):
    def __iter__(self):
        return iter(['ESCAPED'])
class I(int):
    def __index__(self):
        return 7
for value in (D(a=1), L([1]), I(5), {I(1): 2}, {'k': D(a=1)}, float('nan'), '\ud800', b'x', {1, 2}, (1, [2, (3,)])):
    try:
        print(ascii(echo(x=value)))
    except Exception as e:
        print(type(e).__name__)
