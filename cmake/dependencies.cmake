# What comes from the distribution; docs/dependencies.md says what for and why.
# Each name is what a module writes after SYSTEM: a module that does not name a
# library must not include its headers (tests/arrows checks).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(omcc_system name pkg)
  pkg_check_modules(PC_${name} REQUIRED IMPORTED_TARGET ${pkg})
  add_library(omcc_system_${name} INTERFACE)
  target_link_libraries(omcc_system_${name} INTERFACE PkgConfig::PC_${name})
endfunction()

omcc_system(libuv libuv)
omcc_system(sqlite sqlite3)
omcc_system(yaml yaml-0.1)
omcc_system(openssl libcrypto)
omcc_system(curl libcurl)
# The archive, so that omcc can be one static program; its headers are in the default place.
pkg_check_modules(PC_protobuf-c REQUIRED libprotobuf-c)
find_library(OMCC_PROTOBUF_C NAMES libprotobuf-c.a REQUIRED)
add_library(omcc_system_protobuf-c INTERFACE)
target_include_directories(omcc_system_protobuf-c INTERFACE ${PC_protobuf-c_INCLUDE_DIRS})
target_link_libraries(omcc_system_protobuf-c INTERFACE ${OMCC_PROTOBUF_C})
add_library(omcc_system_threads INTERFACE)
target_link_libraries(omcc_system_threads INTERFACE Threads::Threads)
add_library(omcc_system_math INTERFACE)
target_link_libraries(omcc_system_math INTERFACE m)
if(OMCC_BUILD_TESTS)
  omcc_system(check check)
endif()

find_program(PROTOC_C protoc-c REQUIRED)
