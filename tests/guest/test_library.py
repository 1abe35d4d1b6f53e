"""The library of a program: what is there works, and holds nothing but what its list says."""
# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import types
from typing import Any

import pytest
from running import Forge

from codemode.guest.library import tables

USES: dict[str, tuple[str, Any]] = {
    "abc": ("from abc import ABC, abstractmethod\nclass A(ABC): pass\nisinstance(A(), ABC)", True),
    "array": ("from array import array\na=array('i',[1,2])\na.append(3)\nlist(a)", [1, 2, 3]),
    "ast": ("import ast\nast.literal_eval(\"[1, {'a': (2,)}]\")", [1, {"a": [2]}]),
    "asyncio": ("import asyncio\nasyncio.run(asyncio.sleep(0, 5))", 5),
    "base64": ("import base64\nbase64.b64encode(b'hi').decode()", "aGk="),
    "binascii": ("import binascii\nbinascii.hexlify(b'a').decode()", "61"),
    "bisect": ("import bisect\nx=[1,3]\nbisect.insort(x,2)\n[x, bisect.bisect(x,2)]", [[1, 2, 3], 2]),
    "calendar": (
        "import calendar\n[list(map(int, calendar.monthrange(2024,2))), calendar.month_name[3], 'Mo' in calendar.month(2024,1)]",
        [[3, 29], "March", True],
    ),
    "cmath": ("import cmath\nabs(cmath.sqrt(-1))", 1.0),
    "collections": (
        "from collections import deque, OrderedDict, ChainMap, Counter\nd=deque([1],maxlen=2); d.append(2); d.append(3)\n[list(d), dict(ChainMap({'a':1},{'b':2})), Counter('ab')['a'], list(OrderedDict(x=1))]",
        [[2, 3], {"b": 2, "a": 1}, 1, ["x"]],
    ),
    "collections.abc": (
        "from collections.abc import Iterable, Callable\n[isinstance([], Iterable), isinstance(len, Callable)]",
        [True, True],
    ),
    "concurrent.futures": (
        "import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor() as p:\n    r=list(p.map(str, [1]))\nr",
        ["1"],
    ),
    "contextlib": (
        "import contextlib\nwith contextlib.suppress(KeyError), contextlib.ExitStack() as s:\n    s.callback(print, 'bye')\n    {}['a']\n'on'",
        "on",
    ),
    "contextvars": (
        "from contextvars import ContextVar\nv=ContextVar('v', default=1)\nt=v.set(2)\nx=v.get()\nv.reset(t)\n[x, v.get()]",
        [2, 1],
    ),
    "copy": (
        "import copy\nclass A:\n    def __init__(self):\n        self.x=[1]\na=A(); b=copy.deepcopy(a); b.x.append(2)\n[a.x, copy.copy(a).x is a.x]",
        [[1], True],
    ),
    "csv": (
        "import csv, io\nr=list(csv.DictReader(io.StringIO('a,b\\n1,2\\n')))\no=io.StringIO()\nw=csv.writer(o)\nw.writerow([1,'x,y'])\n[r, o.getvalue()]",
        [[{"a": "1", "b": "2"}], '1,"x,y"\r\n'],
    ),
    "dataclasses": (
        "import dataclasses as d\nA=d.make_dataclass('A',[('x',int),('y',int,d.field(default=2))])\n[d.asdict(A(1)), d.replace(A(1),x=5).x, [f.name for f in d.fields(A)]]",
        [{"x": 1, "y": 2}, 5, ["x", "y"]],
    ),
    "datetime": (
        "from datetime import datetime, timezone, date, timedelta\n[datetime.fromisoformat('2024-01-02T03:04:05+00:00').timestamp(), (date(2024,3,1)-timedelta(days=1)).isoformat(), datetime.now(timezone.utc).year > 2000, datetime.strptime('1 Feb 2024','%d %b %Y').day]",
        [1704164645.0, "2024-02-29", True, 1],
    ),
    "decimal": (
        "from decimal import Decimal, getcontext\ngetcontext().prec=6\nstr(Decimal(1)/Decimal(7))",
        "0.142857",
    ),
    "difflib": ("import difflib\ndifflib.get_close_matches('appel',['apple','x'])", ["apple"]),
    "enum": (
        "import enum\nclass P(enum.IntFlag):\n    R=4\n    W=2\n[int(P.R|P.W), P(6)==P.R|P.W]",
        [6, True],
    ),
    "fnmatch": ("import fnmatch\nfnmatch.filter(['a.py','b.txt'],'*.py')", ["a.py"]),
    "fractions": ("from fractions import Fraction\nstr(Fraction(1,3)+Fraction(1,6))", "1/2"),
    "functools": (
        "import functools\n[functools.reduce(lambda a,b:a*b,[1,2,3]), functools.partial(pow,2)(3), sorted([1,2],key=functools.cmp_to_key(lambda a,b:b-a))]",
        [6, 8, [2, 1]],
    ),
    "gzip": ("import gzip\ngzip.decompress(gzip.compress(b'a'*50)).decode()", "a" * 50),
    "hashlib": ("import hashlib\nhashlib.sha256(b'').hexdigest()[:8]", "e3b0c442"),
    "heapq": (
        "import heapq\nh=[3,1]\nheapq.heapify(h)\nheapq.heappush(h,0)\n[heapq.heappop(h), heapq.nlargest(1,[1,5]), list(heapq.merge([1,4],[2]))]",
        [0, [5], [1, 2, 4]],
    ),
    "hmac": ("import hmac\nhmac.new(b'k',b'm','sha256').hexdigest()[:6]", "b60090"),
    "html": ("import html\nhtml.unescape(html.escape('<a>'))", "<a>"),
    "html.entities": ("import html.entities\nhtml.entities.name2codepoint['amp']", 38),
    "html.parser": (
        "from html.parser import HTMLParser\nclass P(HTMLParser):\n    def __init__(self):\n        super().__init__()\n        self.tags=[]\n    def handle_starttag(self,t,a):\n        self.tags.append(t)\np=P(); p.feed('<a><b>'); p.tags",
        ["a", "b"],
    ),
    "io": ("import io\nf=io.StringIO('a\\nb')\n[l.strip() for l in f]", ["a", "b"]),
    "ipaddress": ("import ipaddress\nstr(ipaddress.ip_network('10.0.0.0/30')[1])", "10.0.0.1"),
    "itertools": (
        "import itertools as i\n[list(i.accumulate([1,2])), list(i.product('a','b')), [k for k,g in i.groupby('aab')]]",
        [[1, 3], [["a", "b"]], ["a", "b"]],
    ),
    "json": (
        "import json\nclass E(json.JSONEncoder):\n    def default(self,o):\n        return 'X'\n[json.dumps({'a':object()},cls=E), json.loads('[1]')]",
        ['{"a": "X"}', [1]],
    ),
    "json.decoder": (
        "import json\nfrom json.decoder import JSONDecodeError\ntry:\n    json.loads('{')\nexcept JSONDecodeError as e:\n    r=e.pos\nr",
        1,
    ),
    "logging": (
        "import logging\nlogging.getLogger('a').setLevel('INFO')\nlogging.getLogger('a').isEnabledFor(logging.DEBUG)",
        False,
    ),
    "math": (
        "import math\n[math.gcd(4,6), math.isclose(math.pi,3.14159,rel_tol=1e-3), math.comb(4,2)]",
        [2, True, 6],
    ),
    "numbers": ("import numbers\nisinstance(1, numbers.Number)", True),
    "operator": (
        "import operator as o\nclass P:\n    def __init__(self):\n        self.x=1\n[o.itemgetter(1)([1,2]), o.attrgetter('x')(P()), o.methodcaller('upper')('a'), o.add(1,2)]",
        [2, 1, "A", 3],
    ),
    "os": ("import os\n[os.path.join('a','b'), os.sep, os.fspath('x')]", ["a/b", "/", "x"]),
    "os.path": (
        "from os.path import splitext, basename, relpath, normpath\n[splitext('a.tar.gz'), basename('/x/y'), relpath('/a/b/c','/a'), normpath('a/../b')]",
        [["a.tar", ".gz"], "y", "b/c", "b"],
    ),
    "pathlib": (
        "from pathlib import Path, PurePosixPath\np=Path('a')/'b.txt'\n[str(p), p.suffix, p.stem, p.parent.name, p.with_suffix('.md').name, PurePosixPath('/x').is_absolute(), p.match('*.txt')]",
        ["a/b.txt", ".txt", "b", "a", "b.md", True, True],
    ),
    "pprint": ("import pprint\npprint.pformat({'a':1})", "{'a': 1}"),
    "random": (
        "import random\nr=random.Random(1)\nrandom.seed(2)\nx=[1,2,3]\nrandom.shuffle(x)\n[r.randint(1,1), len(random.sample(x,2)), 0<=random.random()<1, random.choice([7])]",
        [1, 2, True, 7],
    ),
    "re": (
        "import re\np=re.compile(r'(?P<w>\\w+)', re.I)\n[p.match('ab c').group('w'), re.split(',', 'a,b'), re.fullmatch('a','b')]",
        ["ab", ["a", "b"], None],
    ),
    "secrets": ("import secrets\nlen(secrets.token_hex(4))", 8),
    "shlex": ("import shlex\n[shlex.split('a \"b c\"'), shlex.quote('a b')]", [["a", "b c"], "'a b'"]),
    "statistics": (
        "import statistics as s\n[s.mean([1,2,3]), s.median([1,2]), round(s.stdev([1,2,3,4]),3), s.mode('aab')]",
        [2, 1.5, 1.291, "a"],
    ),
    "string": (
        "import string\n[string.Template('$a b').substitute(a=1), string.ascii_lowercase[:3], string.capwords('a b')]",
        ["1 b", "abc", "A B"],
    ),
    "struct": ("import struct\nstruct.unpack('<H', struct.pack('<H', 258))[0]", 258),
    "sys": (
        "import sys\n[sys.maxsize > 2**31, sys.argv, sys.getrecursionlimit() > 0, sys.getsizeof([]) > 0]",
        [True, [""], True, True],
    ),
    "textwrap": (
        "import textwrap\n[textwrap.dedent('  a\\n  b'), textwrap.shorten('a b c', 5, placeholder='…')]",
        ["a\nb", "a b c"],
    ),
    "threading": (
        "import threading\nout=[]\nlock=threading.Lock()\ndef f(n):\n    with lock:\n        out.append(n)\nts=[threading.Thread(target=f,args=(i,)) for i in range(2)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nout",
        [0, 1],
    ),
    "time": (
        "import time\n[time.time()>0, time.strftime('%Y', time.gmtime(0)), time.strptime('2024','%Y').tm_year, time.perf_counter()>=0]",
        [True, "1970", 2024, True],
    ),
    "traceback": (
        "import traceback\ntry:\n    1/0\nexcept ZeroDivisionError as e:\n    r=traceback.format_exception_only(e)\nr",
        ["ZeroDivisionError: division by zero\n"],
    ),
    "types": (
        "import types\nn=types.SimpleNamespace(a=1)\nn.b=2\n[n.a+n.b, vars(n), isinstance(len, types.BuiltinFunctionType), isinstance((x for x in []), types.GeneratorType)]",
        [3, {"a": 1, "b": 2}, True, True],
    ),
    "typing": (
        "import typing\nfrom typing import Optional, Union\ndef f(x: 'Optional[int]', y: list[str]) -> 'int': ...\nh=typing.get_type_hints(f)\n[h['x']==Optional[int], h['return'] is int, typing.get_args(Union[int,str])==(int,str), typing.get_origin(list[int]) is list, typing.cast(int,'a')]",
        [True, True, True, True, "a"],
    ),
    "unicodedata": (
        "import unicodedata\n[unicodedata.normalize('NFC','e\u0301'), unicodedata.name('a'), '\\N{BULLET}']",
        ["é", "LATIN SMALL LETTER A", "•"],
    ),
    "urllib.parse": (
        "from urllib.parse import urlparse, urlencode, parse_qs, urljoin\nu=urlparse('http://h/p?q=1')\n[u.netloc, u._replace(path='/z').geturl(), urlencode({'a':'b c'}), parse_qs('a=1'), urljoin('http://h/a','b')]",
        ["h", "http://h/z?q=1", "a=b+c", {"a": ["1"]}, "http://h/b"],
    ),
    "uuid": (
        "import uuid\n[len(str(uuid.uuid4())), str(uuid.uuid5(uuid.NAMESPACE_DNS,'a'))[:8]]",
        [36, "4f3f2898"],
    ),
    "warnings": (
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')\n    try:\n        warnings.warn('x')\n    except UserWarning:\n        r=1\nr",
        1,
    ),
    "xml.etree.ElementTree": (
        "import xml.etree.ElementTree as ET\nr=ET.fromstring('<a x=\"1\"><b>t</b></a>')\nET.SubElement(r,'c').text='<'\n[r.get('x'), r.find('b').text, [e.tag for e in r.iter()], ET.tostring(r[1], encoding='unicode')]",
        ["1", "t", ["a", "b", "c"], "<c>&lt;</c>"],
    ),
    "zlib": (
        "import zlib\n[zlib.decompress(zlib.compress(b'x')).decode(), zlib.crc32(b'a')]",
        ["x", 3904355907],
    ),
    "zoneinfo": (
        "from zoneinfo import ZoneInfo, ZoneInfoNotFoundError\nfrom datetime import datetime\ntry:\n    ZoneInfo('No/Where')\nexcept ZoneInfoNotFoundError:\n    r='none'\nr",
        "none",
    ),
    "concurrent": ("import concurrent.futures as c\nc.Future is not None", True),
    "urllib": ("import urllib.parse\nurllib.parse.quote('/a b')", "/a%20b"),
}


@pytest.mark.parametrize("name", USES)
def test_each_module_works(guest: Forge, name: str) -> None:
    source, expected = USES[name]
    assert guest.value(source) == expected


def test_no_module_is_without_a_test() -> None:
    assert set(tables.LIBRARY) | {
        "html.entities",
        "logging",
        "threading",
        "traceback",
        "concurrent.futures",
    } <= set(USES)


FILE_READERS = [
    "ET.parse('/etc/passwd')",
    "ET.iterparse('/etc/passwd').__next__()",
    "ET.ElementTree(file='/etc/passwd')",
    "ET.ElementTree().parse('/etc/passwd')",
    "ET.ElementTree(ET.Element('a')).write('/tmp/written')",
    "ET.parse(Changing())",
    "ET.ElementTree(ET.Element('a')).write(Changing())",
]


@pytest.mark.parametrize("call", FILE_READERS)
def test_markup_opens_no_files(guest: Forge, call: str) -> None:
    changing = "class Changing:\n    asked = 0\n    def __getattr__(self, name):\n        Changing.asked += 1\n        if Changing.asked > 1:\n            raise AttributeError(name)\n        return lambda *a: '<a/>'\n    def __fspath__(self):\n        print('PATH')\n        return '/etc/passwd'\n"
    ran = guest.run(f"import xml.etree.ElementTree as ET\n{changing}{call}")
    assert (ran.kind, ran.logs) == ("exception", "")
    assert (
        "there are no files here" in ran.message
        or "has no attribute" in ran.message
        or "AttributeError" in ran.message
    )


def test_zones_come_with_their_data(guest: Forge) -> None:
    names = guest.value("import zoneinfo\nreturn sorted(zoneinfo.available_timezones())")
    if "Europe/Berlin" not in names:
        pytest.skip("this machine has no time zone data")
    source = "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nreturn datetime(2024,7,1,12,tzinfo=ZoneInfo('Europe/Berlin')).utcoffset().total_seconds()"
    assert guest.value(source) == 7200


def test_what_loads_late_is_loaded_already(guest: Forge) -> None:
    source = """
import datetime
out = []
out.append('bücher.example'.encode('idna').decode())
out.append('é'.encode('cp1252').hex())
out.append('é'.encode('utf-16-le').hex())
out.append('a\\u2022'.encode('ascii', 'namereplace').decode())
out.append(b'\\\\N{BULLET}'.decode('unicode_escape'))
out.append(str(int('9' * 4000) % 7))
out.append(datetime.datetime.strptime('10:11', '%H:%M').minute)
return out
"""
    assert guest.value(source)[:5] == ["xn--bcher-kva.example", "e9", "e900", "a\\N{BULLET}", "•"]


def test_no_facade_holds_a_module_or_a_private_name(guest: Forge) -> None:
    modules = sorted({*tables.LIBRARY, *USES})
    source = f"""
import types
found = []
for name in {[name for name in modules if "." not in name]!r}:
    pass
{chr(10).join(f"import {name}" for name in modules)}
for name, module in [{", ".join(f"({name!r}, {name})" for name in modules)}]:
    for part in dir(module):
        value = getattr(module, part)
        if isinstance(value, types.ModuleType) and f"{{name}}.{{part}}" not in {modules!r}:
            found.append([name, part])
        for step in dir(value):
            try:
                inner = getattr(value, step)
            except Exception:
                continue
            if isinstance(inner, (types.ModuleType, types.FrameType, types.CodeType)) and name + "." + part not in {modules!r}:
                if not (isinstance(inner, type) and inner is module):
                    found.append([name, part, step])
return found
"""
    assert guest.value(source) == []


MISSING = [
    "os.getcwd",
    "sys.modules",
    "json.codecs",
    "re.enum",
    "typing.sys",
    "string.Formatter",
    "io.open",
    "time.os",
    "random._os",
    "uuid.getnode",
    "gzip.open",
    "types.CodeType.__call__",
    "collections.UserString",
    "asyncio.subprocess",
    "asyncio.open_connection",
    "shlex.shlex",
    "logging.FileHandler",
    "pathlib.os",
    "dataclasses.sys",
]


@pytest.mark.parametrize("path", MISSING)
def test_what_leads_out_is_not_there(guest: Forge, path: str) -> None:
    module, _, rest = path.partition(".")
    ran = guest.run(f"import {module}\nx = {module}.{rest}\nreturn repr(x())")
    assert ran.kind == "exception", ran.result


def test_the_lists_name_only_what_exists_somewhere() -> None:
    import importlib

    for name, words in tables.LIBRARY.items():
        module = importlib.import_module(name)
        assert isinstance(module, types.ModuleType)
        public = [word for word in words.split() if hasattr(module, word)]
        assert len(public) > len(words.split()) * 0.6, name
        assert not [word for word in words.split() if word.startswith("_")]
        assert not [word for word in public if isinstance(getattr(module, word), types.ModuleType)]


def test_a_module_prints_as_one(guest: Forge) -> None:
    source = """
import math, os.path, collections.abc, enum
class Mine: pass
class Colour(enum.Enum):
    RED = 1
print(math, os.path, [collections.abc], f"{math}", "%s" % math, type(math))
return [str(x) for x in (int, Mine, Colour, ValueError, type, type(Mine), tools.rows()[0].__class__)]
"""
    ran = guest.run(source)
    module = "<module 'math'>"
    assert ran.logs == (
        f"{module} <module 'os.path'> [<module 'collections.abc'>] {module} {module} <class 'module'>\n"
    )
    assert ran.result == [
        "<class 'int'>",
        "<class '__main__.Mine'>",
        "<enum 'Colour'>",
        "<class 'ValueError'>",
        "<class 'type'>",
        "<class 'type'>",
        "<class 'dict'>",
    ]
