#!/bin/sh
# Runs the golden vectors when OMCC_FACTS_DIR names a folder that has them.
dir=${OMCC_FACTS_DIR:+$OMCC_FACTS_DIR/vectors}
if [ -z "$dir" ] || [ ! -d "$dir" ]; then
  echo "skipped: OMCC_FACTS_DIR names no folder with vectors"
  exit 77
fi
exec "$1" "$dir"
