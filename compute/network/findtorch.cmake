# libtorch for the folder that includes this (its targets are seen from there and below only).
# Nothing here is compiled by nvcc; named, because a CUDA libtorch otherwise runs a program to ask for the GPU's
# architecture, which fails where there is none and where CMake does not know the toolkit's dialect.
if(NOT TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
  set(TORCH_CUDA_ARCH_LIST 8.0)
endif()
find_package(Torch REQUIRED)
