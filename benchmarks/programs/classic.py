"""Programs that do what the pure programs of pyperformance do, written anew: the same kinds of work, in sizes of about
a tenth of a second. Each ends in one `return` at its top level, of a small value."""

__all__ = ["CLASSIC"]

CLASSIC = {
    "nbody": """\
bodies = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47],
    [4.84, -1.16, -0.10, 0.60, 2.81, -0.02, 0.037],
    [8.34, 4.12, -0.40, -1.01, 1.82, 0.008, 0.011],
    [12.89, -15.11, -0.22, 1.08, 0.868, -0.010, 0.0017],
    [15.37, -25.9, 0.179, 0.979, 0.594, -0.034, 0.002],
]
pairs = [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1 :]]

def advance(dt, steps):
    for _ in range(steps):
        for a, b in pairs:
            dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
            mag = dt * (dx * dx + dy * dy + dz * dz) ** -1.5
            ma, mb = a[6] * mag, b[6] * mag
            a[3] -= dx * mb
            a[4] -= dy * mb
            a[5] -= dz * mb
            b[3] += dx * ma
            b[4] += dy * ma
            b[5] += dz * ma
        for body in bodies:
            body[0] += dt * body[3]
            body[1] += dt * body[4]
            body[2] += dt * body[5]

advance(0.01, 12_000)
return [round(x, 6) for x in bodies[0][:3]]""",
    "fannkuch": """\
def fannkuch(n):
    count, most, r, perm = list(range(1, n + 1)), 0, n, list(range(n))
    while True:
        while r != 1:
            count[r - 1] = r
            r -= 1
        if perm[0] != 0 and perm[n - 1] != n - 1:
            flips, p = 0, perm[:]
            while k := p[0]:
                p[: k + 1] = p[k::-1]
                flips += 1
            most = max(most, flips)
        while r != n:
            perm.insert(r, perm.pop(0))
            count[r] -= 1
            if count[r] > 0:
                break
            r += 1
        else:
            return most

return fannkuch(8)""",
    "spectral_norm": """\
def a(i, j):
    return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)

def times(v):
    return [sum(a(i, j) * x for j, x in enumerate(v)) for i in range(len(v))]

def times_transposed(v):
    return [sum(a(j, i) * x for j, x in enumerate(v)) for i in range(len(v))]

u = [1.0] * 100
for _ in range(6):
    v = times_transposed(times(u))
    u = times_transposed(times(v))
vbv = sum(x * y for x, y in zip(u, v))
vv = sum(y * y for y in v)
return round((vbv / vv) ** 0.5, 6)""",
    "richards": """\
class Packet:
    def __init__(self, link, kind):
        self.link, self.kind, self.datum, self.data = link, kind, 0, [0] * 4

class Task:
    def __init__(self, name, priority, work):
        self.name, self.priority, self._queue, self._work = name, priority, None, work
        self.held = False
        self.runs = 0

    def put(self, packet):
        packet.link = None
        if self._queue is None:
            self._queue = packet
            return
        last = self._queue
        while last.link is not None:
            last = last.link
        last.link = packet

    def take(self):
        packet = self._queue
        if packet is not None:
            self._queue = packet.link
            packet.link = None
        return packet

    @property
    def ready(self):
        return not self.held and self._queue is not None

    def run(self, scheduler):
        self.runs += 1
        return self._work(self, scheduler, self.take())

class Scheduler:
    def __init__(self):
        self._tasks = []
        self.steps = 0

    def add(self, task):
        self._tasks.append(task)
        self._tasks.sort(key=lambda t: -t.priority)

    def find(self, name):
        for task in self._tasks:
            if task.name == name:
                return task
        raise KeyError(name)

    def loop(self, steps):
        while self.steps < steps:
            for task in self._tasks:
                if task.ready:
                    task.run(self)
                    self.steps += 1
                    break
            else:
                break

def worker(task, scheduler, packet):
    for i in range(4):
        packet.datum = (packet.datum + 1) % 26
        packet.data[i] = 65 + packet.datum
    scheduler.find("handler").put(packet)

def handler(task, scheduler, packet):
    scheduler.find("device" if packet.kind else "worker").put(packet)

def device(task, scheduler, packet):
    packet.kind = 1 - packet.kind
    scheduler.find("worker" if sum(packet.data) % 3 else "handler").put(packet)

scheduler = Scheduler()
for name, priority, work in (("worker", 10, worker), ("handler", 20, handler), ("device", 30, device)):
    scheduler.add(Task(name, priority, work))
for n in range(6):
    scheduler.find("worker").put(Packet(None, n % 2))
scheduler.loop(70_000)
return [scheduler.steps, [scheduler.find(n).runs for n in ("worker", "handler", "device")]]""",
    "raytrace": """\
from math import sqrt

class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vector(self.x - o.x, self.y - o.y, self.z - o.z)

    def scale(self, k):
        return Vector(self.x * k, self.y * k, self.z * k)

    def dot(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    def unit(self):
        return self.scale(1 / sqrt(self.dot(self)))

class Sphere:
    def __init__(self, centre, radius):
        self.centre, self.radius = centre, radius

    def hit(self, origin, ray):
        to = self.centre - origin
        along = to.dot(ray)
        under = self.radius**2 - (to.dot(to) - along * along)
        return None if under < 0 else along - sqrt(under)

    def normal(self, point):
        return (point - self.centre).unit()

spheres = [Sphere(Vector(i - 2, (i * 7) % 3 - 1, 6 + i), 0.9) for i in range(5)]
light = Vector(1, 2, -1).unit()
origin = Vector(0, 0, 0)
shades = []
for py in range(90):
    for px in range(90):
        ray = Vector((px - 45) / 45, (py - 45) / 45, 1.5).unit()
        hits = [(t, n) for n, s in enumerate(spheres) if (t := s.hit(origin, ray)) is not None and t > 0]
        if hits:
            t, n = min(hits)
            point = origin + ray.scale(t)
            shades.append(max(0.0, spheres[n].normal(point).dot(light)))
return [len(shades), round(sum(shades), 6)]""",
    "pidigits": """\
def digits(n):
    out = []
    q, r, t, k, m, x = 1, 0, 1, 1, 3, 3
    while len(out) < n:
        if 4 * q + r - t < m * t:
            out.append(m)
            q, r, m = 10 * q, 10 * (r - m * t), (10 * (3 * q + r)) // t - 10 * m
        else:
            q, r, t, k, m, x = q * k, (2 * q + r) * x, t * x, k + 1, (q * (7 * k + 2) + r * x) // (t * x), x + 2
    return out

return digits(900)[-5:]""",
    "float": """\
from math import cos, sin, sqrt

class Point:
    __slots__ = ("x", "y", "z")

    def __init__(self, i):
        self.x = x = sin(i)
        self.y = cos(i) * 3
        self.z = (x * x) / 2

    def normalize(self):
        norm = sqrt(self.x**2 + self.y**2 + self.z**2)
        self.x /= norm
        self.y /= norm
        self.z /= norm

    def maximize(self, other):
        self.x = self.x if self.x > other.x else other.x
        self.y = self.y if self.y > other.y else other.y
        self.z = self.z if self.z > other.z else other.z
        return self

points = [Point(i) for i in range(60_000)]
for p in points:
    p.normalize()
top = points[0]
for p in points[1:]:
    top = top.maximize(p)
return [round(v, 9) for v in (top.x, top.y, top.z)]""",
    "fft": """\
import cmath

def fft(xs):
    n = len(xs)
    if n == 1:
        return xs
    even, odd = fft(xs[::2]), fft(xs[1::2])
    turned = [cmath.exp(-2j * cmath.pi * k / n) * odd[k] for k in range(n // 2)]
    return [e + t for e, t in zip(even, turned)] + [e - t for e, t in zip(even, turned)]

signal = [complex((i * 37) % 11, 0) for i in range(1 << 13)]
spectrum = fft(signal)
return [round(abs(x), 4) for x in spectrum[:4]]""",
    "relaxation": """\
n = 110
grid = [[float((i * j) % 7) for j in range(n)] for i in range(n)]
omega = 1.25
for _ in range(12):
    for i in range(1, n - 1):
        row, above, below = grid[i], grid[i - 1], grid[i + 1]
        for j in range(1, n - 1):
            row[j] = omega * 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]) + (1 - omega) * row[j]
return round(sum(map(sum, grid)), 6)""",
    "chaos": """\
import random

class Spline:
    def __init__(self, points):
        self._points = points

    def __call__(self, u):
        ps = list(self._points)
        while len(ps) > 1:
            ps = [(a[0] + (b[0] - a[0]) * u, a[1] + (b[1] - a[1]) * u) for a, b in zip(ps, ps[1:])]
        return ps[0]

rng = random.Random(1234)
splines = [Spline([(rng.random(), rng.random()) for _ in range(4)]) for _ in range(3)]
x, y, image = 0.5, 0.5, {}
for _ in range(30_000):
    sx, sy = splines[rng.randrange(3)](x)
    x, y = (sx + y) / 2, (sy + x) / 2
    cell = int(x * 100), int(y * 100)
    image[cell] = image.get(cell, 0) + 1
return [len(image), max(image.values())]""",
    "hexiom": """\
SIZE = 7
CELLS = [(r, c) for r in range(SIZE) for c in range(SIZE) if 3 <= r + c <= 9]
STEPS = ((0, 1), (1, 0), (-1, 1), (0, -1), (-1, 0), (1, -1))
NEIGHBOURS = {(r, c): [(r + a, c + b) for a, b in STEPS if (r + a, c + b) in CELLS] for r, c in CELLS}

def place(taken, start, left):
    if left == 0:
        return 1 if all(2 <= sum(n in taken for n in NEIGHBOURS[cell]) for cell in taken) else 0
    found = 0
    for i in range(start, len(CELLS) - left + 1):
        cell = CELLS[i]
        if taken and left < 5 and not any(n in taken for n in NEIGHBOURS[cell]):
            continue
        found += place(taken | {cell}, i + 1, left - 1)
    return found

return place(frozenset(), 0, 5)""",
}
