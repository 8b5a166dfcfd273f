# Kernels for NVIDIA's devices: each *.cu becomes tessera-<its folder and name>.fatbin beside the engines, by a command of
# its own. Programs are not linked with CUDA (docs/design/gpu.md#compiling).
option(TESSERA_GPU "compile the kernels for NVIDIA's devices" OFF)
set(TESSERA_NVCC ${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13/bin/nvcc CACHE FILEPATH
    "NVIDIA's compiler; scripts/setup --gpu installs it there")

# Code for these serves later devices of the same generation (80: 86 and 89, too); PTX of the last one serves newer ones.
set(TESSERA_DEVICES 80 90 100 120)

if(TESSERA_GPU)
  if(NOT EXISTS ${TESSERA_NVCC})
    message(FATAL_ERROR "TESSERA_GPU=ON: there is no ${TESSERA_NVCC}; run scripts/setup --gpu, or name an nvcc by "
                        "-DTESSERA_NVCC=")
  endif()
  list(TRANSFORM TESSERA_DEVICES REPLACE "(.+)" "-gencode=arch=compute_\\1,code=sm_\\1" OUTPUT_VARIABLE architectures)
  list(GET TESSERA_DEVICES -1 newest)
  list(APPEND architectures -gencode=arch=compute_${newest},code=compute_${newest})
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/tessera/*.cu)
  set(made "")
  foreach(kernel IN LISTS kernels)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/cpp/tessera ${kernel})
    string(REGEX REPLACE "\\.cu$" "" name ${name})
    string(REPLACE "/" "_" name ${name})
    set(fatbin ${PROJECT_BINARY_DIR}/bin/tessera-${name}.fatbin)
    # No operation is contracted, as on processors. Annotations of functions that the compiler makes itself are ignored,
    # which it would say of each (20012).
    add_custom_command(
      OUTPUT ${fatbin}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin
      COMMAND ${TESSERA_NVCC} -fatbin -o ${fatbin} -std=c++20 -fmad=false --expt-relaxed-constexpr -diag-suppress=20012
              -ccbin=${CMAKE_CXX_COMPILER} -Xcompiler=-ffp-contract=off,-Wno-psabi ${architectures}
              -I${PROJECT_SOURCE_DIR}/cpp -MD -MF ${fatbin}.d -MT ${fatbin} ${kernel}
      DEPENDS ${kernel} ${TESSERA_NVCC} DEPFILE ${fatbin}.d COMMENT "Compiling ${name} for devices" VERBATIM)
    list(APPEND made ${fatbin})
  endforeach()
  add_custom_target(gpu_kernels ALL DEPENDS ${made})
  install(FILES ${made} DESTINATION ${TESSERA_INSTALL_PROGRAMS})
endif()
