#!/usr/bin/env python3
"""Runs the checks of a GPU bundle: ./run --help."""

import os
import sys

from runner.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.path.dirname(os.path.abspath(__file__))))
