"""What every row is given: the peers that are there, how much to measure, and how to set engines side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import peers
from benchmarks.peers import CannotRun, Engine, Function
from benchmarks.records import Check, Series, missing
from benchmarks.sampling import Measured, Side

__all__ = ["NOT_ASKED", "Bench", "opened"]

NOT_ASKED = "not measured; --peers does"


class Bench:
    """One run of the measurements. `scale` multiplies how many samples are taken; 1 is the usual measure."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        absent: Mapping[str, str],
        directory: Path,
        *,
        scale: float = 1.0,
        long: bool = False,
    ) -> None:
        self.engines = dict(engines)
        self.absent = dict(absent)
        self.directory = directory
        self.scale = scale
        self.long = long
        self._files = 0

    def count(self, usual: int, least: int = 1) -> int:
        """Return how many to take where `usual` is the usual number."""
        return max(least, round(usual * self.scale))

    def new_file(self) -> Path:
        """Return the path of a session file that is not there yet."""
        self._files += 1
        return self.directory / f"session-{self._files}.db"

    async def sides(
        self,
        names: Sequence[str],
        what: str,
        program: str,
        expected: object,
        functions: Mapping[str, Function] = {},
        *,
        per: int = 1,
        shares: Mapping[str, float] = {},
    ) -> tuple[dict[str, Side], list[Series]]:
        """Try a program on peers; return a side for each that runs it, and a line with the reason for each other."""
        sides: dict[str, Side] = {}
        unable: list[Series] = []
        for name in names:
            engine = self.engines.get(name)
            if engine is None:
                unable.append(Series(engine=name, what=what, unit="s", note=self.why_absent(name)))
                continue
            take = engine.take(program, expected, functions)
            try:
                await take(1)
            except (CannotRun, AssertionError) as error:
                unable.append(Series(engine=name, what=what, unit="s", note=f"cannot: {error}"))
                continue
            sides[name] = Side(engine=name, what=what, take=take, per=per, share=shares.get(name, 1.0))
        return sides, unable

    def check(
        self,
        measured: Measured,
        side: Side,
        sides: Mapping[str, Side],
        name: str,
        bound: float,
        note: str = "",
    ) -> Check:
        """Return the check that `side` takes at most `bound` times as long as the peer of that name."""
        if name in sides:
            return measured.check(side, sides[name], bound, note)
        return missing(name, "×", bound, self.why_absent(name))

    def why_absent(self, name: str) -> str:
        """Return why a peer takes no part."""
        return self.absent.get(name, "it could not run the program")


@contextmanager
def opened(*, with_peers: bool, scale: float = 1.0, long: bool = False) -> Iterator[Bench]:
    """Open what is measured against, and a directory for session files that is gone afterwards.

    Without peers, only those take part that come with Python.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="codemode-benchmarks-")))
        names = [name for name, kind in peers.PEERS.items() if with_peers or kind.distribution is None]
        engines, absent = peers.open_peers(stack, names)
        absent = {name: absent.get(name, NOT_ASKED) for name in peers.PEERS if name not in engines}
        yield Bench(engines, absent, directory, scale=scale, long=long)
