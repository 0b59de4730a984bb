"""Results in a file, which is written anew after every check and which a second call continues."""

import json
import os
import sys
import time

from . import table
from .check import FAILED, PASSED, SKIPPED
from .keep import write_whole
from .session import NO_TIME


def count(results, outcome):
    return sum(result["outcome"] == outcome for result in results)


def gpu_name(machine):
    """Two machines that one borrows in turn may differ in their drivers."""
    return machine.partition(",")[0]


class Results:
    """`found`: of this call; `earlier`: of those before it with the same folder."""

    def __init__(self, out, where):
        self.path, self.where = os.path.join(out, "results.json"), where
        self.page = os.path.join(out, "table.txt")
        self.earlier, self.found = self.of_earlier_calls(), []
        self.checks = []  # names of all that a bundle can run, in their order
        self.unsaved = ""  # why the file is older than the results

    def of_earlier_calls(self):
        """Those of the same bundle on the same kind of GPU; others are kept under another name."""
        try:
            with open(self.path, encoding="utf-8") as file:
                saved = json.load(file)
            results = saved["results"]
        except (OSError, ValueError, LookupError):
            return []
        same = saved.get("revision") == self.where["revision"]
        if same and gpu_name(saved.get("machine", "")) == gpu_name(self.where["machine"]):
            return results
        aside = self.path.removesuffix(".json") + time.strftime("-%Y%m%dT%H%M%S.json", time.gmtime())
        os.rename(self.path, aside)
        print(f"{self.path}: the results are of revision {saved.get('revision') or 'none'} on "
              f"{saved.get('machine') or 'none'}; kept as {aside}", file=sys.stderr)
        return []

    def has_passed(self, check):
        """All that it found before: one result of its name, or those of a test's cases."""
        found = [each for each in self.earlier if each["name"] == check or each["name"].startswith(check + ": ")]
        return count(found, PASSED) > 0 and not any(
            each["outcome"] == FAILED or each["detail"] == NO_TIME for each in found)

    def all(self):
        """Beside what earlier calls found. What this call had no time for stays as it was."""
        no_time = {each["name"] for each in self.found if each["detail"] == NO_TIME}
        # Of a test that an earlier call did not see to its end, and this one did.
        ended = {each["name"].partition(": ")[0] for each in self.found} - no_time
        merged = {each["name"]: each for each in self.earlier if each["name"] not in ended}
        for each in self.found:
            if each["detail"] != NO_TIME or merged.get(each["name"], each)["outcome"] == SKIPPED:
                merged[each["name"]] = each
        return list(merged.values())

    def save(self):
        """A disk that is full ends neither the run nor what the file has."""
        results = self.all()
        saved = {"schema_version": 1, **self.where, "time": time.strftime("%FT%TZ", time.gmtime()),
                 "passed": count(results, PASSED), "failed": count(results, FAILED), "checks": self.checks,
                 "results": results}
        try:
            write_whole(self.path, json.dumps(saved, indent=1).encode())
            write_whole(self.page, table.table(saved).encode())
            self.unsaved = ""
        except OSError as error:
            self.unsaved = f"{self.path}: {error.strerror or error}"
