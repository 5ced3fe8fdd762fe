# cmake -DOUT=file.c -DSQL=a.sql,b.sql -P embed_sql.cmake
# Writes the migrations as one C table, in order of their four-digit numbers.
string(REPLACE "," ";" files "${SQL}")
list(SORT files)
set(rows)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
    message(FATAL_ERROR "migration '${name}' is not named NNNN_words.sql")
  endif()
  math(EXPR number "1${CMAKE_MATCH_1} - 10000")
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND rows "  { ${number}, \"${name}\",\n    \"${text}\" },\n")
endforeach()
file(WRITE ${OUT} "/* Generated from schema/cache. */
#include \"cache/cache_internal.h\"

const struct oc_cache_migration oc_cache_migrations[] = {
${rows}};
const size_t oc_cache_n_migrations = sizeof(oc_cache_migrations) / sizeof(oc_cache_migrations[0]);
")
