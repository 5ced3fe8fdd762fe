"""Many bad peers at once: the numbers of the promise, malformed frames for some minutes; see
bad_load.py. OMCC_BAD_FRAMES says how many."""
import os

from bad_load import BadLoad as Load
from harness import main


class Long(Load):
    frames = int(os.environ.get("OMCC_BAD_FRAMES", "1000000"))
    idle, slow, deaf, halves = 10000, 1000, 100, 1000


del Load
if __name__ == "__main__":
    main()
