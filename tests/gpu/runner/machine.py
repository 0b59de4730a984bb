"""What a bundle runs on, and what it is made from."""

import shutil
import sys

NO_GPU = "no GPU: neither nvidia-smi nor the driver finds one"
HANGS = "a GPU whose driver does not answer"
SECONDS = 30  # a driver that hangs does not take the whole of a lease
TOOL_FOLDERS = ["/usr/bin", "/usr/local/nvidia/bin", "/usr/local/bin"]  # where images have nvidia-smi
QUERY = ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]

# Name, CUDA's version and memory of the first GPU, where there is no nvidia-smi.
ASK_THE_DRIVER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
version, device, memory, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(256)
if any([cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0), cuda.cuDeviceGetName(name, 256, device),
        cuda.cuDriverGetVersion(ctypes.byref(version)), cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)]):
    sys.exit(1)
print(f"{name.value.decode()}, CUDA {version.value // 1000}.{version.value % 1000 // 10}, {memory.value >> 20} MiB")
"""


def gpu(session):
    """One line for each, the name first."""
    if session.gpu is None:
        session.gpu = ask(session)
    return session.gpu


def ask(session):
    tool = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path=":".join(TOOL_FOLDERS))
    for command in ([tool, *QUERY] if tool else [], [sys.executable, "-c", ASK_THE_DRIVER]):
        if not command:
            continue
        code, output, _ = session.call(command, SECONDS, "machine")
        if code == 0 and output.strip():
            return output.strip()
    return HANGS if code is None else NO_GPU


def versions(session):
    """Of the libraries, as the trainer opens them."""
    return session.call([session.path("bin", "trainer"), "version"], SECONDS, "versions")[1].strip()


def revision(session):
    """Of the sources that the bundle was made from."""
    try:
        with open(session.path("REVISION"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
