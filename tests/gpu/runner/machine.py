"""What a bundle runs on, and what it is made from."""

NO_GPU = "no GPU: nvidia-smi does not run"


def machine(session):
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    code, output, _ = session.call(query, 60)
    return output.strip() if code == 0 else NO_GPU


def versions(session):
    """Of the libraries, as the trainer opens them."""
    return session.call([session.path("bin", "trainer"), "version"], 60, "versions")[1].strip()


def revision(session):
    """Of the sources that the bundle was made from."""
    try:
        with open(session.path("REVISION"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
