"""The library of a program: which modules there are, which names of each, and what is said about the rest.

Tables only. `LIBRARY` lists names that are taken from the module as they are; a reviewer asks of each: can
it read a file, name an attribute by a string, evaluate text, or hand out a module, a frame or the engine?
If so it belongs into `replaced()`, with a function of ours, or nowhere.
"""

from __future__ import annotations

import collections.abc
import itertools
from typing import Any

__all__ = ["BASES", "ELSEWHERE", "LIBRARY", "PARTS_ELSEWHERE", "PRELOADED", "replaced"]

LIBRARY: dict[str, str] = {
    "abc": "ABC abstractmethod abstractclassmethod abstractproperty abstractstaticmethod",
    "array": "array typecodes ArrayType",
    "asyncio": """
        ALL_COMPLETED Barrier BoundedSemaphore BrokenBarrierError CancelledError Condition Event FIRST_COMPLETED
        FIRST_EXCEPTION InvalidStateError LifoQueue Lock PriorityQueue Queue QueueEmpty QueueFull QueueShutDown
        Semaphore TaskGroup Timeout TimeoutError as_completed gather iscoroutine iscoroutinefunction shield sleep
        timeout timeout_at wait wait_for""",
    "base64": """
        a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode
        b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode
        urlsafe_b64encode""",
    "binascii": """
        Error Incomplete a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32 crc_hqx hexlify
        unhexlify""",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": """
        APRIL AUGUST Calendar DECEMBER Day FEBRUARY FRIDAY HTMLCalendar IllegalMonthError IllegalWeekdayError
        JANUARY JULY JUNE MARCH MAY MONDAY Month NOVEMBER OCTOBER SATURDAY SEPTEMBER SUNDAY THURSDAY TUESDAY
        TextCalendar WEDNESDAY calendar day_abbr day_name firstweekday isleap leapdays month month_abbr month_name
        monthcalendar monthrange prcal prmonth setfirstweekday timegm week weekday weekheader""",
    "cmath": """
        acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj phase
        pi polar rect sin sinh sqrt tan tanh tau""",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": " ".join(collections.abc.__all__),
    "contextlib": """
        AbstractAsyncContextManager AbstractContextManager AsyncContextDecorator AsyncExitStack ContextDecorator
        ExitStack aclosing asynccontextmanager closing contextmanager nullcontext suppress""",
    "contextvars": "Context ContextVar Token copy_context",
    "copy": "Error copy deepcopy error replace",
    "csv": """
        Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC QUOTE_NOTNULL
        QUOTE_STRINGS Sniffer excel excel_tab field_size_limit get_dialect list_dialects reader register_dialect
        unix_dialect unregister_dialect writer""",
    "dataclasses": """
        FrozenInstanceError Field InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass replace""",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": """
        BasicContext Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DefaultContext
        DivisionByZero DivisionImpossible DivisionUndefined ExtendedContext FloatOperation HAVE_CONTEXTVAR
        HAVE_THREADS Inexact InvalidContext InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow
        ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP
        Rounded Subnormal Underflow getcontext localcontext setcontext""",
    "difflib": """
        Differ HtmlDiff IS_CHARACTER_JUNK IS_LINE_JUNK Match SequenceMatcher context_diff diff_bytes
        get_close_matches ndiff restore unified_diff""",
    "enum": """
        CONFORM CONTINUOUS EJECT Enum EnumCheck Flag FlagBoundary IntEnum IntFlag KEEP NAMED_FLAGS ReprEnum STRICT
        StrEnum UNIQUE auto member nonmember property unique verify""",
    "fnmatch": "filter fnmatch fnmatchcase translate",
    "fractions": "Fraction",
    "functools": """
        cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering""",
    "gzip": "BadGzipFile compress decompress",
    "hashlib": """
        algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256
        sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256""",
    "hmac": "HMAC compare_digest digest new",
    "html": "escape unescape",
    "html.parser": "HTMLParser",
    "io": "BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation",
    "ipaddress": """
        AddressValueError IPV4LENGTH IPV6LENGTH IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface
        IPv6Network NetmaskValueError collapse_addresses get_mixed_type_key ip_address ip_interface ip_network
        summarize_address_range v4_int_to_packed v6_int_to_packed""",
    "itertools": " ".join(name for name in dir(itertools) if name[0] != "_"),
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "json.decoder": "JSONDecodeError JSONDecoder",
    "math": """
        acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1
        fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp
        lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt sumprod tan
        tanh tau trunc ulp""",
    "numbers": "Complex Integral Number Rational Real",
    "operator": """
        abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv
        ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv
        ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor""",
    "os": "PathLike altsep curdir extsep fspath linesep name pardir pathsep sep",
    "os.path": """
        altsep basename commonpath commonprefix curdir dirname extsep isabs join normcase normpath pardir pathsep sep
        split splitdrive splitext splitroot""",
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "pprint": "PrettyPrinter isreadable isrecursive pformat pp pprint saferepr",
    "random": """
        Random SystemRandom betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits
        getstate lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed setstate
        shuffle triangular uniform vonmisesvariate weibullvariate""",
    "re": """
        A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError RegexFlag S U UNICODE
        VERBOSE X compile error escape findall finditer fullmatch match purge search split sub subn""",
    "secrets": """
        DEFAULT_ENTROPY SystemRandom choice compare_digest randbelow randbits token_bytes token_hex token_urlsafe""",
    "shlex": "join quote split",
    "statistics": """
        NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde kde_random
        linear_regression mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles
        stdev variance""",
    "string": """
        Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
        punctuation whitespace""",
    "struct": "Struct calcsize error iter_unpack pack pack_into unpack unpack_from",
    "sys": """
        byteorder exc_info exception float_info float_repr_style get_int_max_str_digits getrecursionlimit getsizeof
        hash_info hexversion int_info intern maxsize maxunicode set_int_max_str_digits version version_info""",
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "time": """
        altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
        process_time process_time_ns sleep strftime strptime struct_time thread_time thread_time_ns time time_ns
        timezone tzname""",
    "types": "GenericAlias MappingProxyType MethodType NoneType SimpleNamespace",
    "typing": """
        AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable
        BinaryIO ByteString Callable ChainMap ClassVar Collection Concatenate Container ContextManager Coroutine
        Counter DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator
        KeysView List Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet
        NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs
        Pattern Protocol ReadOnly Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes
        SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound TYPE_CHECKING Text TextIO Tuple Type
        TypeAlias TypeAliasType TypeGuard TypeIs TypeVar TypeVarTuple TypedDict Union Unpack ValuesView assert_never
        assert_type cast dataclass_transform final get_args is_typeddict overload override reveal_type
        runtime_checkable""",
    "unicodedata": """
        bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored
        name normalize numeric unidata_version""",
    "urllib.parse": """
        parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes urldefrag urlencode
        urljoin urlparse urlsplit urlunparse urlunsplit""",
    "uuid": """
        NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 RESERVED_FUTURE RESERVED_MICROSOFT RESERVED_NCS
        RFC_4122 SafeUUID UUID uuid3 uuid4 uuid5""",
    "warnings": "catch_warnings filterwarnings formatwarning resetwarnings simplefilter warn",
    "zlib": """
        DEF_BUF_SIZE DEF_MEM_LEVEL MAX_WBITS Z_BEST_COMPRESSION Z_BEST_SPEED Z_DEFAULT_COMPRESSION
        Z_DEFAULT_STRATEGY Z_FINISH Z_FULL_FLUSH Z_NO_FLUSH Z_SYNC_FLUSH adler32 compress compressobj crc32
        decompress decompressobj error""",
    "zoneinfo": "InvalidTZPathWarning ZoneInfo ZoneInfoNotFoundError",
}

PRELOADED = """
    _pydatetime _pydecimal _pylong _strptime codecs encodings.ascii encodings.cp1252 encodings.idna encodings.latin_1
    encodings.punycode encodings.raw_unicode_escape encodings.unicode_escape encodings.utf_16 encodings.utf_16_be
    encodings.utf_16_le encodings.utf_32 encodings.utf_32_be encodings.utf_32_le encodings.utf_7 encodings.utf_8
    encodings.utf_8_sig encodings.cp437 encodings.iso8859_1 encodings.iso8859_15 encodings.hex_codec
    encodings.base64_codec encodings.rot_13 html.entities linecache locale stringprep tracemalloc unicodedata
    zoneinfo._common zoneinfo._tzpath inspect ast
    """.split()
"""Modules that others load when they are first needed; in a guest that would be too late."""

BASES: dict[str, str] = {
    "abc": "ABC",
    "array": "array",
    "calendar": "Calendar HTMLCalendar TextCalendar",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": " ".join(collections.abc.__all__),
    "concurrent.futures": "Executor",
    "contextlib": "AbstractAsyncContextManager AbstractContextManager AsyncContextDecorator ContextDecorator",
    "csv": "Dialect excel excel_tab unix_dialect",
    "datetime": "date datetime time timedelta tzinfo",
    "decimal": "Decimal",
    "enum": "Enum Flag IntEnum IntFlag ReprEnum StrEnum",
    "fractions": "Fraction",
    "html.parser": "HTMLParser",
    "io": "BytesIO StringIO",
    "json": "JSONDecoder JSONEncoder",
    "logging": "Formatter Handler",
    "numbers": "Complex Integral Number Rational Real",
    "os": "PathLike",
    "queue": "LifoQueue PriorityQueue Queue",
    "random": "Random",
    "string": "Template",
    "threading": "Thread",
    "types": "SimpleNamespace",
    "typing": "Any Generic NamedTuple Protocol TypedDict",
}

_FILES = "there are no files here; use a tool that reads or writes them"
_NETWORK = "there is no network here; use a tool that fetches"
_PROCESSES = "there are no processes here; use a tool that runs commands"
_CODE = "code cannot be loaded or inspected here; write it out"

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("shutil", "tempfile", "glob", "fileinput", "filecmp", "zipfile", "tarfile", "mmap"), _FILES
    ),
    **dict.fromkeys(
        (
            "requests",
            "httpx",
            "aiohttp",
            "urllib3",
            "socket",
            "ssl",
            "smtplib",
            "ftplib",
            "http",
            "urllib.request",
        ),
        _NETWORK,
    ),
    **dict.fromkeys(("subprocess", "multiprocessing", "signal", "pty", "sh", "pexpect"), _PROCESSES),
    **dict.fromkeys(("importlib", "inspect", "builtins", "dis", "gc", "ctypes", "code", "runpy"), _CODE),
    **dict.fromkeys(("pickle", "marshal", "shelve", "dbm"), "use json"),
    **dict.fromkeys(
        ("sqlite3", "psycopg2", "sqlalchemy"), "there are no databases here; use a tool that queries"
    ),
    **dict.fromkeys(
        ("numpy", "pandas", "scipy"), "not installed; use lists with statistics, math and itertools"
    ),
    **dict.fromkeys(("yaml", "toml", "tomllib", "bs4", "lxml"), "not available; use json, re or html.parser"),
    "argparse": "a program here gets no arguments; write the values into it",
    **dict.fromkeys(("xml.dom", "xml.dom.minidom", "xml.sax"), "use xml.etree.ElementTree"),
    "tools": "`tools` is there already; write tools.name(...)",
}
"""Modules that programs ask for and cannot have, and what to do instead."""

PARTS_ELSEWHERE: dict[str, str] = {
    "ast": _CODE,
    "os": _FILES,
    "os.path": _FILES,
    "pathlib": _FILES,
    "io": _FILES,
    "gzip": _FILES,
    "string.Formatter": "use f-strings or str.format",
    "sys": "only the harmless part of sys is here",
}


def replaced() -> dict[str, dict[str, Any]]:
    """Return, by module, what programs get in place of the library's own."""
    from codemode.guest.library import (
        aio,
        expressions,
        functions,
        logs,
        making,
        markup,
        pathing,
        queues,
        streams,
        system,
        threads,
    )

    return {
        "abc": making.ABC,
        "ast": {"literal_eval": expressions.literal_eval},
        "asyncio": aio.REPLACED,
        "collections": making.COLLECTIONS,
        "concurrent": {},
        "concurrent.futures": threads.FUTURES,
        "contextlib": {"redirect_stdout": streams.RedirectStdout, "redirect_stderr": streams.RedirectStderr},
        "dataclasses": making.DATACLASSES,
        "enum": making.ENUM,
        "functools": functions.FUNCTOOLS,
        "heapq": functions.HEAPQ,
        "html.entities": markup.ENTITIES,
        "logging": logs.REPLACED,
        "operator": functions.OPERATOR,
        "os.path": pathing.OS_PATH,
        "pathlib": pathing.PATHLIB,
        "queue": queues.QUEUE,
        "sys": system.SYS,
        "threading": threads.THREADING,
        "time": system.TIME,
        "traceback": system.TRACEBACK,
        "types": making.TYPES,
        "typing": making.TYPING,
        "urllib": {},
        "warnings": system.WARNINGS,
        "xml": {},
        "xml.etree": {},
        "xml.etree.ElementTree": markup.ELEMENT_TREE,
        "zoneinfo": pathing.ZONEINFO,
    }
