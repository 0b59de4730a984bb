"""Results in a file, which is written anew after every check and which a second call continues."""

import json
import sys
import time

from .session import NO_TIME


def count(results, outcome):
    return sum(result["outcome"] == outcome for result in results)


def results_of_earlier_calls(path, where):
    """Those of the same bundle on the same machine; results of another one end the program."""
    try:
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        results = saved["results"]
    except (OSError, ValueError, LookupError):
        return []
    for key in ("revision", "machine"):
        if saved.get(key) != where[key]:
            print(f"{path}: {key} is {saved.get(key) or 'none'}; expected {where[key] or 'none'}. Choose another folder "
                  "with --out.", file=sys.stderr)
            sys.exit(2)
    return results


def has_passed(check, results):
    """All that it found: one result of its name, or those of a test's cases."""
    found = [result for result in results if result["name"] == check or result["name"].startswith(check + ": ")]
    return any(result["outcome"] == "passed" for result in found) and not any(
        result["outcome"] == "failed" or result["detail"] == NO_TIME for result in found)


def save(path, where, earlier, results):
    """Beside what earlier calls found. What this call had no time for stays as it was."""
    no_time = {result["name"] for result in results if result["detail"] == NO_TIME}
    # Of a test that an earlier call did not see to its end, and this one did.
    ended = {result["name"].partition(": ")[0] for result in results} - no_time
    found = {result["name"]: result for result in earlier if result["name"] not in ended}
    for result in results:
        if result["detail"] != NO_TIME or found.get(result["name"], result)["outcome"] == "skipped":
            found[result["name"]] = result
    results = list(found.values())
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, **where, "time": time.strftime("%FT%TZ", time.gmtime()),
                   "passed": count(results, "passed"), "failed": count(results, "failed"), "results": results}, file,
                  indent=1)
