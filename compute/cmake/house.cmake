# Flags every target of the house shares. Included by the top level and by compute/, which configures alone.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
# One place for what is run and loaded: programs and modules in bin/, where the program looks for its modules.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(COUNTERPOINT_LLD ld.lld)
if(COUNTERPOINT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

set(COUNTERPOINT_SANITIZE "" CACHE STRING "address,undefined or thread: build everything under that sanitizer")
option(COUNTERPOINT_FUZZ "tests/fuzz as libFuzzer programs, everything instrumented for them (clang only)" OFF)
if(COUNTERPOINT_FUZZ)
  set(COUNTERPOINT_SANITIZE fuzzer-no-link,address,undefined)
endif()
if(COUNTERPOINT_SANITIZE)
  add_compile_options(-fsanitize=${COUNTERPOINT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1 -O1)
  add_link_options(-fsanitize=${COUNTERPOINT_SANITIZE})
endif()

# counterpoint_target(NAME): the house's warnings and include root on one target.
# -fno-math-errno and -fno-trapping-math let loops vectorise; -ffast-math is not used (it flushes denormals process-wide).
function(counterpoint_target name)
  target_include_directories(${name} PRIVATE ${COUNTERPOINT_ROOT})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wconversion -Werror -fno-math-errno -fno-trapping-math -fopenmp-simd)
  if(COUNTERPOINT_FUZZ)  # clang warns of other things than GCC, which is the compiler the house is kept clean under
    target_compile_options(${name} PRIVATE -Wno-error -Wno-pass-failed -Wno-unknown-warning-option)
  endif()
  target_compile_definitions(${name} PRIVATE QT_NO_KEYWORDS)
endfunction()
