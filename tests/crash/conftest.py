import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from verified import all_is_whole  # noqa: E402, F401
