"""The command `timelake`, as `python -m timelake`."""

from _timelake_command import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
