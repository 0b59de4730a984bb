"""PyTorch on the same GPU, which trains the benchmark's models in turns with ours."""

import os
import shutil
import sys

HAS_TORCH = "import sys, torch; print(torch.__version__); sys.exit(not torch.cuda.is_available())"
IMPORT_SECONDS = 60  # from a cold disk
SHARE = 0.35  # of a check's time that one form of the peer may take to begin; ours is measured all the same


def environment(python, library_path, seconds):
    """What bin/peer_python reads: the Python, its library path, and how many seconds it has to begin."""
    return {"PEER_PYTHON": python, "PEER_LIBRARY_PATH": library_path, "PEER_SECONDS": str(max(1, int(SHARE * seconds)))}


def pythons():
    """Each once."""
    found = [sys.executable, shutil.which("python3"), shutil.which("python")]
    return list(dict.fromkeys(filter(None, found)))


def has_torch(session, python):
    library_path = os.environ.get("LD_LIBRARY_PATH", "")
    return session.call([python, "-c", HAS_TORCH], IMPORT_SECONDS, "pytorch", LD_LIBRARY_PATH=library_path)[0] == 0


def flags(session):
    """Of the benchmark, so that PyTorch trains beside it; none where no Python has PyTorch for this GPU."""
    if session.peer_python is None:
        session.peer_python = next((python for python in pythons() if has_torch(session, python)), "")
    if not session.peer_python:
        return []
    return ["--peer=pytorch", "--peer-python=" + session.path("bin", "peer_python"), "--skip-agreement"]
