"""systemd reads the unit of the service without a complaint."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

UNIT = pathlib.Path("tools/packages/partita.service")


def complaints(text):
    """What systemd says of a unit whose program is there."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / UNIT.name
        unit.write_text(text.replace("/usr/bin/partita_service", "/bin/true"))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
        return [line for line in done.stderr.splitlines() if UNIT.name in line]


@unittest.skipIf(shutil.which("systemd-analyze") is None, "there is no systemd-analyze (systemd)")
class ServiceUnit(unittest.TestCase):

    def test_systemd_takes_it(self):
        self.assertEqual(complaints(UNIT.read_text()), [])

    def test_a_wrong_one_is_noticed(self):
        for right, wrong in (("DynamicUser=yes", "DynamicUser=perhaps"), ("TimeoutStopSec", "TimeoutStopSeconds")):
            self.assertNotEqual(complaints(UNIT.read_text().replace(right, wrong)), [], wrong)


if __name__ == "__main__":
    unittest.main()
