# One folder is one module is one static library `oc_<name>`.
#
#   omcc_module(precision
#     SOURCES engine.c rules.c
#     USES lists optable graph          # modules whose headers it may include
#     SYSTEM yaml)                      # libraries whose headers it may include
#
# A header is included as "<module>/<header>.h". The include path of a module holds
# itself, base and what it lists under USES, and nothing behind those: links are
# PRIVATE. `build/include/<module>/<module>` is a symbolic link to the folder, which is
# how a flat folder gets its module name in front. tests/arrows reads the list that
# omcc_write_arrows() leaves in the build folder, and the compiler's depfiles.

set(OMCC_FARM ${CMAKE_BINARY_DIR}/include)
set(OMCC_GEN ${CMAKE_BINARY_DIR}/gen)

add_library(omcc_flags INTERFACE)
target_compile_options(omcc_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wformat=2 -Wundef -Wvla -Wconversion -Wno-sign-conversion -fno-strict-aliasing
  -fno-common -fstack-protector-strong)
target_compile_definitions(omcc_flags INTERFACE _GNU_SOURCE OMCC_VERSION="${PROJECT_VERSION}"
  $<$<BOOL:${OMCC_STOP_POINTS}>:OMCC_STOP_POINTS=1>)
if(OMCC_WERROR)
  target_compile_options(omcc_flags INTERFACE -Werror)
endif()
if(OMCC_SANITIZE)
  add_compile_options(-fsanitize=${OMCC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OMCC_SANITIZE})
endif()

# Gives `target` the include path of module `name`.
function(omcc_see target name)
  target_include_directories(${target} PRIVATE ${OMCC_FARM}/${name} ${OMCC_GEN}/${name})
endfunction()

function(omcc_arrows_of target uses system)
  foreach(used IN LISTS uses)
    omcc_see(${target} ${used})
    target_link_libraries(${target} PRIVATE oc_${used})
  endforeach()
  foreach(lib IN LISTS system)
    if(lib)
      target_link_libraries(${target} PRIVATE omcc_system_${lib})
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE omcc_flags)
endfunction()

function(omcc_record kind name uses system)
  string(REPLACE ";" "," uses "${uses}")
  string(REPLACE ";" "," system "${system}")
  file(RELATIVE_PATH dir ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(GLOBAL APPEND PROPERTY OMCC_ARROWS "${kind}|${name}|${dir}|${uses}|${system}")
endfunction()

function(omcc_module name)
  cmake_parse_arguments(M "" "" "SOURCES;USES;SYSTEM" ${ARGN})
  file(MAKE_DIRECTORY ${OMCC_FARM}/${name} ${OMCC_GEN}/${name}/${name})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${OMCC_FARM}/${name}/${name} SYMBOLIC)
  add_library(oc_${name} STATIC ${M_SOURCES})
  omcc_see(oc_${name} ${name})
  set(uses ${M_USES})
  if(NOT name STREQUAL "base")
    list(PREPEND uses base)
  endif()
  omcc_arrows_of(oc_${name} "${uses}" "${M_SYSTEM}")
  omcc_record(module ${name} "${uses}" "${M_SYSTEM}")
endfunction()

# A program: its own sources live in the folder of a module or of their own.
function(omcc_program name)
  cmake_parse_arguments(M "" "" "SOURCES;USES;SYSTEM" ${ARGN})
  add_executable(${name} ${M_SOURCES})
  set(uses base ${M_USES})
  omcc_arrows_of(${name} "${uses}" "${M_SYSTEM}")
  omcc_record(program ${name} "${uses}" "${M_SYSTEM}")
endfunction()

# A Check program that ctest runs. Tests may look at every module they list, internals included.
function(omcc_unit_test name)
  cmake_parse_arguments(M "" "" "SOURCES;USES;SYSTEM" ${ARGN})
  if(NOT M_SOURCES)
    set(M_SOURCES ${name}.c)
  endif()
  add_executable(${name} ${M_SOURCES})
  set(uses base ${M_USES})
  set(system check ${M_SYSTEM})
  omcc_arrows_of(${name} "${uses}" "${system}")
  add_test(NAME ${name} COMMAND ${name})
  # Time limits are for what hangs: a busy machine may take twenty times as long as a quiet one.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200 ENVIRONMENT
    "OMCC_SOURCE_DIR=${CMAKE_SOURCE_DIR};OMCC_BINARY_DIR=${CMAKE_BINARY_DIR};CK_DEFAULT_TIMEOUT=60;CK_TIMEOUT_MULTIPLIER=5")
endfunction()

function(omcc_write_arrows)
  get_property(lines GLOBAL PROPERTY OMCC_ARROWS)
  list(JOIN lines "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/arrows.txt "${text}\n")
endfunction()
