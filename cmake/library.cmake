# The library, shared (hopper_gemm) and static (hopper_gemm_static), and its installation by `cmake --install`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(HG_GENERATED_INCLUDE_DIR ${PROJECT_BINARY_DIR}/generated/include)
configure_file(include/hopper_gemm/version.hpp.in ${HG_GENERATED_INCLUDE_DIR}/hopper_gemm/version.hpp @ONLY)

# The headers that a user's program includes, and the headers that they include.
set(HG_PUBLIC_HEADERS
  include/hopper_gemm/api.hpp
  include/hopper_gemm/data_type.hpp
  include/hopper_gemm/gemm.h
  include/hopper_gemm/gemm.hpp
  include/hopper_gemm/gemm_epilogue.hpp
  include/hopper_gemm/host_device.hpp
  include/hopper_gemm/int_types.hpp
  include/hopper_gemm/status.hpp)

# hg_add_library_host(target): makes an object library of everything between the public interface and the kernels.
function(hg_add_library_host target)
  set(sources gemm.cpp gemm_c.cpp heuristics/json_file.cpp heuristics/probe_file.cpp host/backends.cpp
              host/checked_gemm.cpp host/device.cpp host/footprint.cpp host/workspace_pool.cpp plan.cpp tuning_file.cpp)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/gemm/)
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PUBLIC ${HG_GENERATED_INCLUDE_DIR})
  # The parser of JSON is in headers, so that the library needs none when it runs.
  target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
  hg_compile_together(${target} 6)
endfunction()

hg_add_library_host(hopper_gemm_library_host)
target_link_libraries(hopper_gemm_library_host PUBLIC hopper_gemm_options)

# The code that chooses among the library's kernels for sm_90. It calls nothing of CUDA, so the emulated library has the
# same objects.
add_library(hopper_gemm_library_choice OBJECT
  src/gemm/config_name.cpp src/gemm/heuristics/candidates.cpp src/gemm/heuristics/cost_model.cpp
  src/gemm/heuristics/loaded_tuning.cpp src/gemm/heuristics/probed_rates.cpp src/gemm/heuristics/tuned.cpp)
target_link_libraries(hopper_gemm_library_choice PUBLIC hopper_gemm_options)

# The library's kernels for sm_90. Pairs are compiled together. The slowest file is last, because Ninja starts there.
add_library(hopper_gemm_library_wgmma OBJECT
  src/gemm/instances/cooperative_large.cu
  src/gemm/host/small_m.cu
  src/gemm/host/pingpong.cu
  src/gemm/epilogue/reduce_partials.cu
  src/gemm/instances/cooperative_small.cu
  src/gemm/instances/cooperative_small_swapped.cu
  src/gemm/instances/cooperative_alpha_only.cu
  src/gemm/instances/cooperative_swapped.cu
  src/gemm/host/cooperative.cu
  src/gemm/host/cooperative_mixed_n.cu
  src/gemm/host/operand_maps.cpp
  src/gemm/host/wgmma_backend.cpp)
target_link_libraries(hopper_gemm_library_wgmma PUBLIC hopper_gemm_options)
hg_guard_ptxas(hopper_gemm_library_wgmma)
hg_watch_waits(hopper_gemm_library_wgmma)
hg_compile_together(hopper_gemm_library_wgmma 2)

# The library's kernels for any operands, on any GPU from sm_80 on.
add_library(hopper_gemm_library_mma OBJECT
  src/gemm/host/interleave.cu
  src/gemm/host/mma_sync_backend.cu
  src/gemm/instances/mma_sync_bf16_large.cu
  src/gemm/instances/mma_sync_bf16_small.cu
  src/gemm/instances/mma_sync_fp16_large.cu
  src/gemm/instances/mma_sync_fp16_small.cu)
target_link_libraries(hopper_gemm_library_mma PUBLIC hopper_gemm_options)
hg_compile_for(hopper_gemm_library_mma "${HG_LIBRARY_FALLBACK_ARCHITECTURES}")
hg_guard_ptxas(hopper_gemm_library_mma)
hg_compile_together(hopper_gemm_library_mma 2)

set(HG_LIBRARY_PARTS
  hopper_gemm_library_host hopper_gemm_library_choice hopper_gemm_library_wgmma hopper_gemm_library_mma)
set_target_properties(${HG_LIBRARY_PARTS} PROPERTIES
  POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden
  CUDA_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)

add_library(hopper_gemm SHARED)
add_library(hopper_gemm_static STATIC)
foreach(target IN ITEMS hopper_gemm hopper_gemm_static)
  add_library(hopper_gemm::${target} ALIAS ${target})
  foreach(part IN LISTS HG_LIBRARY_PARTS ITEMS hopper_gemm_core)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${HG_GENERATED_INCLUDE_DIR}>)
  target_compile_features(${target} INTERFACE cxx_std_17)
  target_link_libraries(${target} INTERFACE CUDA::toolkit PRIVATE CUDA::cudart_static)
  # The kernels need no device linker, and a user's program needs no CUDA compiler.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME hopper_gemm LINKER_LANGUAGE CXX)
endforeach()

# Before 1.0 every minor version may break programs that were linked with the one before.
set_target_properties(hopper_gemm PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# Visibility alone would still export instances of std:: templates, and cudart's functions.
set(version_script ${PROJECT_SOURCE_DIR}/src/gemm/exports.map)
target_link_options(hopper_gemm PRIVATE
  -Wl,--version-script=${version_script} -Wl,--exclude-libs,ALL -Wl,--no-undefined)
set_target_properties(hopper_gemm PROPERTIES LINK_DEPENDS ${version_script})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hopper_gemm)
install(TARGETS hopper_gemm hopper_gemm_static EXPORT hopper_gemm_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${HG_PUBLIC_HEADERS} ${HG_GENERATED_INCLUDE_DIR}/hopper_gemm/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hopper_gemm)
install(EXPORT hopper_gemm_targets NAMESPACE hopper_gemm:: DESTINATION ${package_dir})

configure_package_config_file(cmake/hopper_gemmConfig.cmake.in ${PROJECT_BINARY_DIR}/hopper_gemmConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hopper_gemmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hopper_gemmConfig.cmake ${PROJECT_BINARY_DIR}/hopper_gemmConfigVersion.cmake
  DESTINATION ${package_dir})

# The path is relative to the .pc file, so that the prefix may be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_includedir ${pkgconfig_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
list(GET CUDAToolkit_INCLUDE_DIRS 0 pc_cuda_includedir)
configure_file(cmake/hopper_gemm.pc.in ${PROJECT_BINARY_DIR}/hopper_gemm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hopper_gemm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
