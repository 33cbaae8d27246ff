// main() of the programs of tests that need a GPU.

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt

bool has_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  // Here rather than in each case: there are thousands, and not one of them runs.
  if (!has_gpu() && !testing::GTEST_FLAG(list_tests)) {
    std::printf("skipped: no CUDA device for %d tests\n",
                testing::UnitTest::GetInstance()->total_test_count());
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
