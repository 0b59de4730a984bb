"""What `train --progress` draws on a terminal."""

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import unittest

from tests.tools.commands.trainer_case import LENET, TRAINER, TrainerCase, without_launchers

BAR = re.compile(r"\[=*> *\] +\d+ %")
TITLE = re.compile(r"^ {10}loss ")
BLOCK_END = "\x1b[10A\r"  # back from the last line of the curves to the bar
BRAILLE = re.compile("[\u2801-\u28ff]")


class Screen:
    """The lines of a terminal that understands what is drawn, and nothing else."""

    def __init__(self, text, rows=40, columns=100):
        self.lines, self.row, self.column = [""], 0, 0  # also those that have scrolled away
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            self.draw(part, rows, columns)

    def draw(self, part, rows, columns):
        line = self.lines[self.row]
        if part == "\r":
            self.column = 0
        elif part == "\n":
            self.row += 1
            self.lines += [""] * (self.row == len(self.lines))
        elif part == "\x1b[K":
            self.lines[self.row] = line[:self.column]
        elif part == "\x1b[J":
            self.lines[self.row:] = [line[:self.column]]
        elif part.startswith("\x1b["):
            assert part.endswith("A"), part
            self.row -= int(part[2:-1])
            assert self.row >= max(0, len(self.lines) - rows), "what has scrolled away cannot be drawn over"
        else:
            assert self.column + len(part) < columns, "a full line would wrap"
            self.lines[self.row] = line.ljust(self.column)[:self.column] + part + line[self.column + len(part):]
            self.column += len(part)

    def count(self, pattern):
        return sum(bool(pattern.search(line)) for line in self.lines)


class ProgressCurvesTest(TrainerCase):

    def start(self, *flags, rows=40, columns=100, locale="C.UTF-8"):
        """Trains on a terminal until it is stopped."""
        self.keyboard, self.terminal = os.openpty()
        self.addCleanup(os.close, self.keyboard)
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            [TRAINER, "train", "--mock-data", "--batch=64", "--epochs=100000", "--threads=1", *flags, LENET],
            stdout=subprocess.PIPE, stderr=self.terminal, text=True, cwd=self.folder, start_new_session=True,
            env={**without_launchers(), "TERM": "xterm", "LC_ALL": locale, "NO_COLOR": "1"})
        self.addCleanup(self.process.kill)
        os.close(self.terminal)
        self.shown, self.decoder = "", codecs.getincrementaldecoder("utf-8")()

    def resize(self, rows, columns):
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        """Some more of what is shown; False at the end."""
        self.assertTrue(select.select([self.keyboard], [], [], 300)[0])
        try:
            part = os.read(self.keyboard, 1 << 16)
        except OSError:  # the other end is closed
            part = b""
        self.shown += self.decoder.decode(part)
        return bool(part)

    def read_until(self, enough):
        while not enough(self.shown):
            self.assertTrue(self.read(), self.shown)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        while self.read():
            pass
        self.process.communicate(timeout=300)
        self.assertEqual(self.process.returncode, 128 + signal.SIGINT)

    def test_curves_are_drawn_in_place_and_stay_at_the_end(self):
        self.start("--progress=curves", "--metrics=m.jsonl", "--evaluate-every=10")
        self.read_until(lambda shown: shown.count(BLOCK_END) >= 4 and "epoch 0." in shown)
        whole_blocks = self.shown[:self.shown.rindex(BLOCK_END) + len(BLOCK_END)]
        screen = Screen(whole_blocks)
        self.assertEqual((screen.count(BAR), screen.count(TITLE)), (1, 1))
        self.assertRegex(screen.lines[screen.row], BAR)
        self.assertEqual((screen.row, screen.column), (len(screen.lines) - 11, 0))
        self.assertRegex("".join(screen.lines[screen.row:]), BRAILLE)
        self.assertIn(" accuracy ", screen.lines[screen.row + 1])
        self.stop()
        screen = Screen(self.shown)
        self.assertEqual((screen.count(BAR), screen.count(TITLE)), (0, 1))
        self.assertRegex(screen.lines[-11], TITLE)
        self.assertEqual((screen.lines[-1], screen.row, screen.column), ("", len(screen.lines) - 1, 0))
        # Lines of the log stay, each once, above the curves.
        log = [line for line in screen.lines[:-11] if line]
        self.assertTrue(log)
        for line in log:
            self.assertRegex(line, r"^\d\d:\d\d:\d\d\.\d{3} info step \d+ \(epoch ")
        self.assertEqual(len(set(log)), len(log))

    def test_the_last_curves_end_with_the_run(self):
        self.start("--progress=curves", "--steps=40")
        while self.read():
            pass
        self.process.communicate(timeout=300)
        self.assertEqual(self.process.returncode, 0)
        screen = Screen(self.shown)
        self.assertRegex(screen.lines[-11], TITLE)
        self.assertTrue(screen.lines[-2].endswith(" 40"), screen.lines)

    def test_they_follow_the_size_of_the_terminal(self):
        self.start("--progress=curves", columns=140)
        self.read_until(lambda shown: shown.count(BLOCK_END) >= 2)
        title = self.shown.split("\n")[1]
        self.assertEqual(len(title.split("\x1b")[0].rstrip("\r")), 139 - 1)  # two halves and two columns between
        self.resize(40, 60)
        narrow = re.compile(r"\n {10}loss [^\n\x1b]{44}\x1b\[K")
        self.read_until(narrow.search)
        self.resize(8, 60)
        self.read_until(lambda shown: re.search(r"\r\x1b\[J[^\n\x1b]+ %[^\n\x1b]+\r\x1b\[J", shown[shown.rindex(BLOCK_END):]))
        self.stop()
        self.assertTrue(self.shown.endswith("\r\x1b[J"))

    def test_other_terminals_and_values(self):
        self.start("--progress=curves", locale="C")
        self.read_until(lambda shown: shown.count(BLOCK_END) >= 2)
        self.stop()
        self.assertTrue(self.shown.isascii())
        self.assertRegex(self.shown, r"\n {0,8}\S+\|[ *]*\*[ *]*")
        self.start("--progress=lines")
        self.read_until(lambda shown: shown.count("\n") >= 1)
        self.stop()
        self.assertRegex(self.shown, r"info step=\d+ epoch=")
        self.assertNotIn("%", self.shown)
        done = self.train("--progress=curves", LENET)
        self.assertNotIn("\x1b", done.stderr)
        self.refused(2, "one of bar, curves, lines is needed", "train", "--mock-data", "--progress=dots", LENET)


if __name__ == "__main__":
    unittest.main()
