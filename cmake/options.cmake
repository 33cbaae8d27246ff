# The include folders, language level and warnings that all targets share.
add_library(hopper_gemm_options INTERFACE)
target_include_directories(hopper_gemm_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# Since CUDA 13, libcu++ has its own folder. nvcc looks there by itself, but the host compiler does not.
foreach(dir IN LISTS CUDAToolkit_INCLUDE_DIRS)
  if(EXISTS ${dir}/cccl)
    target_include_directories(hopper_gemm_options SYSTEM INTERFACE ${dir}/cccl)
  endif()
endforeach()
target_compile_features(hopper_gemm_options INTERFACE cxx_std_20)
target_link_libraries(hopper_gemm_options INTERFACE CUDA::cudart_static)
# GCC 12 sees overlapping copies in std::string's own code (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(hopper_gemm_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# -std is explicit, because CMake 3.25 does not know that nvcc takes C++20.
target_compile_options(hopper_gemm_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -Werror=all-warnings -lineinfo -Xcompiler=-Wall,-Wextra,-Werror>
  # Compressed machine code for several GPUs takes a fifth of the space.
  $<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all>)

# If there is a ccache, it keeps what was compiled.
find_program(HG_CCACHE ccache DOC "ccache, or empty: compile everything")
mark_as_advanced(HG_CCACHE)
set(cached_compiler "")
if(HG_CCACHE)
  # ccache needs these settings for precompiled headers.
  set(cached_compiler env CCACHE_SLOPPINESS=pch_defines,time_macros ${HG_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
foreach(language IN ITEMS C CXX CUDA)
  if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${cached_compiler})
  endif()
endforeach()

# hg_compile_for(target architectures [older...]): compiles the target's CUDA code for the architectures. If there are
# none, it compiles for sm_80 and newer GPUs and for each older architecture, or to machine code for HG_MACHINE_CODE
# alone. sm_80, sm_90 and GPUs to come then share one PTX, which saves a quarter of the compile time. Kernels that use
# nothing of Hopper are as fast from it as from PTX for sm_90.
function(hg_compile_for target architectures)
  if(architectures)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
    return()
  endif()
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
  if(HG_MACHINE_CODE)
    list(TRANSFORM HG_MACHINE_CODE PREPEND sm_ OUTPUT_VARIABLE machine_code)
  else()
    set(machine_code sm_80 sm_90)
    foreach(older IN LISTS ARGN)
      target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-gencode arch=compute_${older},code=sm_${older}>")
    endforeach()
  endif()
  list(JOIN machine_code "," machine_code)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-gencode arch=compute_80,code=[${machine_code},compute_80]>")
endfunction()

# hg_compile_together(target files): lets the compiler compile so many of the target's files at once, because parsing
# headers takes longer than compiling a small kernel, or most of the host's files. CMake can do so for CUDA since 3.31.
# Names in the anonymous namespaces of these files must differ.
function(hg_compile_together target files)
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.31)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# hg_optimise_little(target): for host code that takes the compiler longer than it ever runs, as the templates of parsers
# do.
function(hg_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
endfunction()

# hg_watch_waits(target): in the debug build, limits each wait for a barrier. A wait that never ends says who waits, and
# traps.
function(hg_watch_waits target)
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:HG_DEVICE_WATCHDOG>)
endfunction()

# hg_guard_ptxas(target): makes the remarks of ptxas (serialised wgmma, ignored setmaxnreg, spills, stack frames) errors
# of the target's CUDA sources. It does nothing in the debug build, where the watched waits cause all of them.
function(hg_guard_ptxas target)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
  # The guard runs before ccache, which repeats ptxas' output.
  set(launcher ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/ptxas_guard.py ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
endfunction()

# hg_find_cutlass(variable): sets the variable to CUTLASS's include folder. HG_CUTLASS_ROOT is that folder, or a
# checkout or wheel that contains it.
function(hg_find_cutlass variable)
  foreach(dir IN ITEMS . include cutlass_library/source/include)
    if(EXISTS ${HG_CUTLASS_ROOT}/${dir}/cutlass/gemm/device/gemm.h)
      set(${variable} ${HG_CUTLASS_ROOT}/${dir} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "HG_CUTLASS_ROOT is ${HG_CUTLASS_ROOT}, but there is no cutlass/gemm/device/gemm.h in it, nor in "
                      "its include or cutlass_library/source/include; set it to the folder of a CUTLASS")
endfunction()

# hg_embed_text(target file name): makes a header with the file's name and the suffix .hpp. In it, `name` holds the
# text.
function(hg_embed_text target file name)
  get_filename_component(stem ${file} NAME_WLE)
  set(header_dir ${PROJECT_BINARY_DIR}/generated)
  set(header ${header_dir}/${stem}.hpp)
  set(text ${PROJECT_SOURCE_DIR}/${file})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -D TEXT=${text} -D NAME=${name} -D HEADER=${header} -P ${script}
    DEPENDS ${text} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${header})
  target_include_directories(${target} PRIVATE ${header_dir})
endfunction()

# hg_add_git_commit(target): makes a header with the commit of the sources. Every build looks it up again.
function(hg_add_git_commit target)
  set(header_dir ${PROJECT_BINARY_DIR}/generated)
  add_custom_target(${target}_git_commit
    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D HEADER=${header_dir}/git_commit.hpp
            -P ${PROJECT_SOURCE_DIR}/cmake/git_commit.cmake
    BYPRODUCTS ${header_dir}/git_commit.hpp
    VERBATIM)
  add_dependencies(${target} ${target}_git_commit)
  target_include_directories(${target} PRIVATE ${header_dir})
endfunction()
