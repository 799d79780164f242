# qfx_room(NAME SOURCES ... LINKS ...): one static library per room.
# qfx_isa_sources(LIST): drops the files of other processors from a list of sources and gives each remaining one the flags of the
# instruction set that its name ends in (GemmAvx2.cpp).
function(qfx_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(qfx_${name} STATIC ${ARG_SOURCES})
  add_library(qfx::${name} ALIAS qfx_${name})
  set_target_properties(qfx_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(qfx_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/qfx>)
  target_compile_options(qfx_${name} PRIVATE ${QFX_WARNINGS})
  target_link_libraries(qfx_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  if(QFX_PRECOMPILE AND ARG_LINKS MATCHES "qfx_") # kernels link nothing and include none of these
    target_precompile_headers(qfx_${name} PRIVATE <algorithm> <functional> <map> <memory> <optional> <string> <variant> <vector>
      <llvm/ADT/DenseMap.h> <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringMap.h> <llvm/ADT/ilist.h>
      <llvm/Support/Error.h> <llvm/Support/FormatVariadic.h> <llvm/Support/raw_ostream.h>)
  endif()
endfunction()

set(QFX_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(QFX_ISA_FLAGS_avxvnni -mavx2 -mfma -mf16c -mavxvnni)
set(QFX_ISA_FLAGS_avx512vnni -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma -mf16c)
set(QFX_ISA_FLAGS_neondot -march=armv8.2-a+dotprod)
function(qfx_isa_sources list)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER ${list} EXCLUDE REGEX "Neon(Dot)?\\.cpp$")
  else()
    list(FILTER ${list} EXCLUDE REGEX "Avx[A-Za-z0-9]*\\.cpp$")
  endif()
  foreach(source ${${list}})
    if(source MATCHES "(Avx2|AvxVnni|Avx512Vnni|NeonDot)\\.cpp$")
      string(TOLOWER ${CMAKE_MATCH_1} isa)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${QFX_ISA_FLAGS_${isa}} -O2)
    endif()
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
