"""Many bad peers at once, in small numbers; see bad_load.py."""
from bad_load import BadLoad as Load
from harness import main


class Short(Load):
    pass


del Load
if __name__ == "__main__":
    main()
