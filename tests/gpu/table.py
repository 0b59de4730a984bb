#!/usr/bin/env python3
"""Prints the results of a GPU bundle's run as Markdown: ./table out/results.json."""

import sys

from runner.table import main

if __name__ == "__main__":
    main(sys.argv[1:])
