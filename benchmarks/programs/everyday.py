"""Programs that only compute, of the kinds that models write. Each ends in one `return` at its top level, of a small
value."""

__all__ = ["EVERYDAY"]

EVERYDAY = {
    "loop": """\
total = 0
for i in range(1_500_000):
    if i % 3 == 0:
        total += i
    else:
        total -= 1
return total""",
    "dict": """\
counts = {}
for i in range(400_000):
    key = i * 7919 % 1009
    counts[key] = counts.get(key, 0) + 1
    counts[key] += 1
return sum(counts.values())""",
    "strings": """\
words = []
for i in range(250_000):
    words.append(f"w{i % 97}".upper().replace("W", "x"))
text = " ".join(words)
return [len(text), text.count("x1"), len(set(text.split()))]""",
    "classes": """\
class Vector:
    def __init__(self, x, y):
        self.x = x
        self._y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    @property
    def y(self):
        return self._y

    def step(self):
        self._y += 1
        self.x = self.x * 1.0000001

total = Vector(0, 0)
for i in range(120_000):
    v = Vector(i, 1)
    v.step()
    total = total + v
return [round(total.x), total.y]""",
    "generators": """\
def squares(n):
    for i in range(n):
        yield i * i

def evens(numbers):
    for n in numbers:
        if n % 2 == 0:
            yield n

return sum(evens(squares(500_000))) + sum(x for x in range(500_000) if x & 1)""",
    "sorting": """\
numbers = [(i * 1103515245 + 12345) % 2147483648 for i in range(60_000)]
pairs = sorted((n % 1000, -n) for n in numbers)
pairs.sort(key=lambda pair: (-pair[0], pair[1]))
return [pairs[0][0], pairs[-1][1]]""",
    "recursion": """\
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

return fib(28)""",
    "json": """\
import json
rows = [{"id": i, "name": f"row {i}", "tags": ["a", "b"], "score": i / 7} for i in range(3000)]
size = 0
for _ in range(14):
    text = json.dumps(rows)
    size += len(text) + len(json.loads(text))
return size""",
    "regex": """\
import re
text = "alpha=1; beta=22; gamma=333; " * 12000
found = re.findall(r"(\\w+)=(\\d+)", text)
swapped = re.sub(r"(\\w+)=(\\d+)", lambda m: m.group(2) + "=" + m.group(1), text)
return [len(found), len(swapped), swapped[:7]]""",
    "matrix": """\
n = 130
a = [[(i * j) % 7 for j in range(n)] for i in range(n)]
b = [[(i + j) % 5 for j in range(n)] for i in range(n)]
c = [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
return sum(map(sum, c))""",
    "nqueens": """\
def place(row, n, columns, left, right):
    if row == n:
        return 1
    found = 0
    for column in range(n):
        if column in columns or row + column in left or row - column in right:
            continue
        columns.add(column)
        left.add(row + column)
        right.add(row - column)
        found += place(row + 1, n, columns, left, right)
        columns.discard(column)
        left.discard(row + column)
        right.discard(row - column)
    return found

return place(0, 10, set(), set(), set())""",
    "comprehensions": """\
total = 0
for k in range(300):
    squares = {i: i * i for i in range(2000)}
    total += len({v % 97 for v in squares.values()}) + sum([v for v in squares.values() if v % 3])
return total""",
}
