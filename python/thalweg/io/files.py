"""Writing a file so that a reader sees either the old content or all of the new one."""

import contextlib
import os
import secrets
import stat


def _create_temporary(target):
    """Makes an empty file beside `target`, with the mode an ordinary `open` would give it, and returns its path."""
    folder, name = os.path.split(target)
    path = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(6)}.tmp")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return path


@contextlib.contextmanager
def replacing(path):
    """Yields the path of a temporary file; on success it is flushed to disk and renamed to `path`.

    On failure the temporary file is removed and `path` keeps its old content. Links are followed, an existing
    file's mode is kept, and something that is no regular file (a pipe, `/dev/null`) is written in place.
    """
    target = os.path.realpath(os.fspath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        yield target
        return
    temporary = _create_temporary(target)
    mode = stat.S_IMODE(os.stat(temporary).st_mode if mode is None else mode)
    try:
        yield temporary
        os.chmod(temporary, mode)  # whoever wrote it may have put a file of its own there
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _flush_to_disk(path):
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
