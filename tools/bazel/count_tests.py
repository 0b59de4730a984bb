"""Counts test cases from Bazel's build event files (JSON, one event a line) and from the results of steps that Bazel did
not run (XML), and prints `N passed, N failed` last.

A target that did not build, crashed or ran out of time counts as one failure more than its cases say, so that nothing
that went wrong is counted as nothing. The exit code is 1 if anything failed or no test ran.
"""

import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree


def count_cases(path):
    """(run, failed) of one test.xml; skipped and disabled cases are not run. (0, 0) where the file is broken."""
    try:
        cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return 0, 0
    ran = [c for c in cases if c.find("skipped") is None and c.get("status") != "notrun"]
    failed = [c for c in ran if c.find("failure") is not None or c.find("error") is not None]
    return len(ran), len(failed)


def xml_of(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return ""


def read_events(path):
    """(results by (label, run, shard, attempt), failed or unbuilt labels, whether the file is whole)."""
    results, bad, whole = {}, set(), False
    with open(path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            identity = event.get("id", {})
            if "testResult" in event:
                key = identity["testResult"]
                # The last attempt of a shard decides.
                results[key["label"], key.get("run"), key.get("shard")] = event["testResult"]
            elif "testSummary" in event:
                if event["testSummary"]["overallStatus"] != "PASSED":
                    bad.add(identity["testSummary"]["label"])
            elif event.get("aborted", {}).get("reason") == "SKIPPED":
                pass  # a target that is not for this platform: GPU code without a toolkit
            elif "targetCompleted" in identity and not event.get("completed", {}).get("success"):
                bad.add(identity["targetCompleted"]["label"])
            elif "pattern" in identity and "aborted" in event:
                bad.add(" ".join(identity["pattern"]["pattern"]))
            whole = whole or bool(event.get("lastMessage"))
    return results, bad, whole


def count_step(name, path):
    """A test that Bazel did not run: a file with test cases."""
    ran, failed = count_cases(path)
    if not ran:
        print(f"{name}: no result")
        failed = ran = 1
    print(f"{name}: {ran - failed} passed, {failed} failed")
    return ran - failed, failed


def count_part(path):
    name, kind = os.path.splitext(os.path.basename(path))
    if kind == ".xml":
        return count_step(name, path)
    try:
        results, bad, whole = read_events(path)
    except (OSError, ValueError) as error:
        print(f"{name}: no result: {error}")
        return 0, 1
    passed, failed, explained = 0, 0, set()
    for (label, _, _), result in results.items():
        ran, wrong = count_cases(xml_of(result))
        passed += ran - wrong
        failed += wrong
        if wrong:
            explained.add(label)
    unexplained = bad - explained
    for label in sorted(bad):
        print(f"{name}: failed: {label}")
    if not whole:
        print(f"{name}: Bazel stopped before its end")
    failed += len(unexplained) + (not whole)
    print(f"{name}: {passed} passed, {failed} failed")
    return passed, failed


def main(paths):
    counts = [count_part(path) for path in paths]
    passed = sum(c[0] for c in counts)
    failed = sum(c[1] for c in counts)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
