// Compares our prototypes with NVIDIA's header, where there is one: with -DTESSERA_GPU=ON.
#include "tessera/device/abi.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <type_traits>

#include "tessera/device/driver.h"

namespace tessera::device {
namespace {

/// Returns whether two parameters are handed over alike: numbers of one size, or pointers to such.
template <class Ours, class Theirs>
constexpr bool are_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_pointer_t<Ours>;
    using B = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_class_v<A> || std::is_void_v<A>)  // a handle, or bytes
      return std::is_class_v<A> == std::is_class_v<B> && std::is_void_v<A> == std::is_void_v<B>;
    else
      return std::is_const_v<A> == std::is_const_v<B> && are_alike<std::remove_cv_t<A>, std::remove_cv_t<B>>();
  } else {
    return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

template <class... Ours, class... Theirs>
constexpr bool take_the_same(abi::Result (*)(Ours...), CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs))
    return (are_alike<Ours, Theirs>() && ...);
  else
    return false;
}

#define TESSERA_FUNCTION(name, ...)                                                                               \
  static_assert(                                                                                                  \
      take_the_same(static_cast<abi::Result (*)(__VA_ARGS__)>(nullptr), static_cast<decltype(&::name)>(nullptr)), \
      #name);
TESSERA_DRIVER_FUNCTIONS(TESSERA_FUNCTION)
#undef TESSERA_FUNCTION

static_assert(sizeof(abi::Result) == sizeof(CUresult));
static_assert(static_cast<int>(abi::success) == CUDA_SUCCESS);
static_assert(static_cast<int>(abi::out_of_memory) == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(abi::no_device) == CUDA_ERROR_NO_DEVICE);
static_assert(static_cast<int>(abi::no_code_for_device) == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(static_cast<int>(abi::not_found) == CUDA_ERROR_NOT_FOUND);
static_assert(static_cast<int>(abi::multiprocessors) == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(static_cast<int>(abi::capability_major) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(static_cast<int>(abi::capability_minor) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(abi::not_behind_default_stream == CU_STREAM_NON_BLOCKING);

TEST(Abi, IsThatOfTheHeader) { EXPECT_EQ(CUDA_VERSION, least_cuda); }

}  // namespace
}  // namespace tessera::device
#else
TEST(Abi, IsThatOfTheHeader) { GTEST_SKIP() << "there is no cuda.h: configure with -DTESSERA_GPU=ON"; }
#endif
