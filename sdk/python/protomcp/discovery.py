"""Settings of this process, and handlers that are found in a folder."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional

from . import site
from .errors import DefinitionError
from .problems import say
from .registry import Registry, registry

#: Handlers mostly wait for something, so this is not about processors; threads start when needed.
CONCURRENCY = 8


class _Config:
    def __init__(self) -> None:
        self.handlers_dir = ""
        self.hot_reload = False
        self.concurrency = CONCURRENCY


_config = _Config()
#: What was defined before any folder was loaded.
_own: Optional[Registry] = None


def configure(
    handlers_dir: Optional[str] = None,
    hot_reload: Optional[bool] = None,
    *,
    concurrency: Optional[int] = None,
) -> None:
    """Sets what is given and leaves the rest as it is.

    Args:
        handlers_dir: a folder whose Python files (but those that begin with ``_``) are loaded before
            the process serves. A relative one is looked for in the working folder, then beside the
            program.
        hot_reload: load them anew when the bridge asks for it. (With ``pmcp dev`` a new process takes
            over after each change, and nothing has to be asked for.)
        concurrency: how many requests are worked on at once; 8 if not set. With 1, handlers run one
            after the other.
    """
    if handlers_dir is not None:
        _config.handlers_dir = handlers_dir
    if hot_reload is not None:
        _config.hot_reload = hot_reload
    if concurrency is not None:
        if not isinstance(concurrency, int) or concurrency < 1:
            where = site.caller()
            raise DefinitionError(f"{where}: concurrency is a number from 1 up, not {concurrency!r}")
        _config.concurrency = concurrency


def get_config() -> Dict[str, Any]:
    return dict(vars(_config))


def reset_config() -> None:
    global _own
    _config.__init__()  # type: ignore[misc]
    _own = None


def discover_handlers() -> None:
    """Loads the files of ``handlers_dir``. When they were loaded before, what they define is defined
    anew, unless a file can't be loaded: then all stays as it was."""
    if not _config.handlers_dir:
        return
    folder = _folder()
    if folder is None:
        say(f"there is no folder {_config.handlers_dir!r}, so no handlers are loaded from it")
        return
    global _own
    before = registry.copy()
    if _own is None:
        _own = before
    try:
        registry.take(_own.copy())
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and not name.startswith("_"):
                _load(os.path.join(folder, name))
    except BaseException:
        registry.take(before)
        raise


def _folder() -> Optional[str]:
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    for base in (os.getcwd(), os.path.dirname(os.path.abspath(main))):
        folder = os.path.join(base, _config.handlers_dir)
        if os.path.isdir(folder):
            return os.path.abspath(folder)
    return None


def _load(path: str) -> None:
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    name = "_protomcp_handler_" + os.path.basename(path)[:-3]
    loader = SourceFileLoader(name, path)
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
