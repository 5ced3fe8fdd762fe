#!/bin/bash
# Stand-in for the wrapper of an installed toolkit: sets two paths and starts the program
# beside it, without exec, so that killing this process alone leaves the program running.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH="$here/../lib64:$LD_LIBRARY_PATH"
export PYTHONPATH="$here/../python/site-packages:$PYTHONPATH"
"$here/atc.bin" "$@"
exit $?
