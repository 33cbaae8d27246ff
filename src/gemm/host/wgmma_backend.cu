// The host's half of the wgmma back end: what it takes, and how it is launched. Its kernels are in gemm/kernel/.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "device/cluster_placement.hpp"
#include "device/launch.hpp"
#include "device/tensor_map.hpp"
#include "gemm/config_name.hpp"
#include "gemm/epilogue/reduce_partials.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/heuristics/cost_model.hpp"
#include "gemm/heuristics/tuned.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/mixed_n.hpp"
#include "gemm/host/small_m.hpp"
#include "gemm/instances/cooperative_configs.hpp"
#include "gemm/instances/small_m_configs.hpp"
#include "gemm/kernel/cooperative.cuh"
#include "gemm/scheduler/mixed_n.hpp"

namespace hopper_gemm::library {
namespace wgmma {
namespace {

constexpr int kTmaAlignmentBytes = 16;
constexpr int kInputBytes = 2;
constexpr int kNoLastStart = std::numeric_limits<int>::max();

/// Where the last of the tiles along so many rows or columns begins, if it is to end with them.
int last_start(int extent, int block) { return extent < block ? kNoLastStart : extent - block; }

std::string fault_of_input(const char* name, const OperandArgs& operand, int alignment_bytes,
                           int batch_count) {
  return fault_of_operand(name, operand.leading_dimension, operand.batch_stride, batch_count, alignment_bytes,
                          kInputBytes);
}

Status can_implement(const Problem& problem, const Device& device) {
  const KernelArgs& args = problem.args;
  if (device.major != 9 || device.minor != 0) {
    return unsupported("wgmma: the GPU is sm_" + std::to_string(device.major) + std::to_string(device.minor) +
                       ", not sm_90");
  }
  if (args.shape.k == 0) return unsupported("wgmma: K is 0, and TMA has no empty tensors");
  for (const std::string& fault : {fault_of_input("A", args.a, problem.alignments.a, args.batch_count),
                                   fault_of_input("B", args.b, problem.alignments.b, args.batch_count)}) {
    if (!fault.empty()) return unsupported("wgmma: " + fault + ", as TMA needs it");
  }
  // Of the smallest tile of all but kernels for small M, and so the largest number; tiles are counted in 32 bits.
  if (num_tiles(args.shape, 64, 64) * static_cast<double>(args.batch_count) * kMaxSplitK >
      std::numeric_limits<std::int32_t>::max()) {
    return unsupported("wgmma: D has more tiles than a launch takes CTAs");
  }
  return check_tensor_map_support();
}

/// Of a cooperative kernel of one tile N.
const cooperative::Instance& instance_of(const KernelConfig& kernel) {
  using Instances = std::span<const cooperative::Instance>;
  for (const Instances instances :
       {Instances(cooperative::kLargeInstances), Instances(cooperative::kSmallInstances)}) {
    for (const cooperative::Instance& instance : instances) {
      if (instance.config == kernel) return instance;
    }
  }
  return *std::find_if(cooperative::kAlphaOnlyInstances.begin(), cooperative::kAlphaOnlyInstances.end(),
                       [&](const cooperative::Instance& instance) { return instance.config == kernel; });
}

/// Of a kernel with a mixed tile N.
const MixedNKernel& mixed_n_kernel(const KernelConfig& kernel) {
  if (kernel == kWideConfig) return kWideKernel;
  const auto* const found = std::find(std::begin(kPingpongConfigs), std::end(kPingpongConfigs), kernel);
  return kPingpongKernels[static_cast<std::size_t>(found - std::begin(kPingpongConfigs))];
}

/// What cudaOccupancyMaxActiveClusters says, which takes longer than everything else that a plan needs; 0 where not
/// even one fits. Thread-safe.
int active_clusters(const Device& device, const GemmConfig& config) {
  static std::mutex mutex;
  // An emulated GPU may get other SMs. K through the workspace has as many clusters, of the same size.
  static std::map<std::tuple<int, std::uint64_t, int, std::string>, int> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const bool is_small_m = config.kernel.schedule == Schedule::SmallM;
  const KernelConfig kernel = is_small_m ? compiled(config.kernel) : config.kernel;
  const std::tuple key(device.id, device.context, device.sm_count,
                       name_of({.kernel = kernel, .split_k = config.split_k}));
  if (const auto entry = known.find(key); entry != known.end()) return entry->second;
  int clusters = 0;
  const auto ask = [&] {
    if (kernel.narrow_n != 0) return mixed_n_kernel(kernel).active_clusters(&clusters);
    if (is_small_m) return small_m_clusters(kernel, config.split_k, &clusters);
    const cooperative::Instance& instance = instance_of(kernel);
    return max_active_clusters(instance.alpha_only, cluster_size(config), num_threads(kernel),
                               instance.smem_bytes, &clusters);
  };
  const Status status = ask();
  // An error need not be one next time.
  if (status.ok() || status.code() == StatusCode::Unsupported) known.emplace(key, clusters);
  return clusters;
}

ActiveClusters active_clusters_of(const Device& device) {
  return [device](const GemmConfig& config) { return active_clusters(device, config); };
}

/// How an operand is cut into boxes: K-major one of all rows that a CTA loads, MN-major swizzle atoms by the slice of K.
std::array<int, 3> box_of(const OperandArgs& operand, int block_lines, int sharers) {
  if (operand.major == OperandMajor::K) return {kBlockK, block_lines / sharers, 1};
  return {kAtomLines, kBlockK / sharers, 1};
}

/// TMA does not use the stride of a single matrix, but the map must hold one that it could take: that of matrices without
/// gaps where it is not too long.
std::int64_t batch_stride_bytes(std::int64_t batch_count, std::int64_t stride_bytes, std::int64_t lines,
                                std::int64_t line_stride_bytes) {
  constexpr std::int64_t kTooLong = std::int64_t{1} << 40;
  if (batch_count > 1 && stride_bytes != 0) return stride_bytes;
  return line_stride_bytes < kTooLong / lines ? lines * line_stride_bytes : kTmaAlignmentBytes;
}

/// A map without an address, which comes with each launch.
Status encode(const char* name, TensorMapType type, std::span<const std::int64_t> extents,
              std::span<const std::int64_t> strides_bytes, std::span<const int> box, TensorMap* tensor_map) {
  TensorMapSpec spec;
  spec.type = type;
  spec.base = std::bit_cast<const void*>(std::uintptr_t{kTmaAlignmentBytes});
  spec.extents_elems = extents;
  spec.strides_bytes = strides_bytes;
  spec.box_elems = box;
  spec.swizzle = Swizzle::B128;
  Status status = encode_tensor_map(spec, tensor_map);
  if (status.ok()) return status;
  return {status.code(), std::string(name) + ": " + status.message()};
}

/// The same of matrices behind each other: all of them are one where the stride is 0.
Status encode(const char* name, TensorMapType type, std::array<std::int64_t, 3> extents,
              std::int64_t leading_dimension, std::int64_t batch_stride, const std::array<int, 3>& box,
              TensorMap* tensor_map) {
  const std::int64_t elem_bytes = type == TensorMapType::Fp32 ? 4 : 2;
  const std::int64_t line_stride_bytes = leading_dimension * elem_bytes;
  const std::array<std::int64_t, 2> strides_bytes = {
      line_stride_bytes,
      batch_stride_bytes(extents[2], batch_stride * elem_bytes, extents[1], line_stride_bytes)};
  if (batch_stride == 0) extents[2] = 1;
  return encode(name, type, extents, strides_bytes, box, tensor_map);
}

TensorMapType tensor_map_type(DataType type) {
  switch (type) {
    case DataType::BFloat16: return TensorMapType::Bf16;
    case DataType::Float16: return TensorMapType::Fp16;
    case DataType::Float32: return TensorMapType::Fp32;
  }
  return TensorMapType::Bf16;
}

/// Of A or B. lines: all of it along M or N; block_lines: of a CTA's tile, those that so many CTAs load together.
Status encode_input(const char* name, const OperandArgs& operand, const KernelArgs& args, int lines,
                    int block_lines, int sharers, TensorMap* tensor_map) {
  const bool is_k_major = operand.major == OperandMajor::K;
  const int k = args.shape.k;
  return encode(name, tensor_map_type(args.input_type),
                {is_k_major ? k : lines, is_k_major ? lines : k, args.batch_count}, operand.leading_dimension,
                operand.batch_stride, box_of(operand, block_lines, sharers), tensor_map);
}

class PreparedCooperative final : public PreparedGemm {
 public:
  /// overlaps: the kernel may start before the one before it ends. name: of what was chosen, which may be of a
  /// kernel that cannot compute the problem. rest: of the same problem, for launches whose beta is not 0; nullptr
  /// where the kernel has Epilogues::All.
  PreparedCooperative(const Problem& problem, const Device& device, const GemmConfig& config, bool overlaps,
                      std::unique_ptr<const PreparedGemm> rest, std::string name, std::string reason)
      : config_(config),
        instance_(instance_of(config_.kernel)),
        rest_(std::move(rest)),
        name_(std::move(name)),
        reason_(std::move(reason)),
        overlaps_(overlaps) {
    const KernelArgs& args = problem.args;
    const KernelConfig& kernel = config_.kernel;
    const GemmShape shape = args.shape;
    const int cluster_m = kernel.block_m * kernel.cluster_m;
    const int cluster_n = kernel.block_n * kernel.cluster_n;
    const TileGrid grid = make_tile_grid(shape, cluster_m, cluster_n);
    const int matrices = args.batch_count * config_.workspace_split_k;
    const std::uint32_t tiles = grid.num_tiles() * static_cast<std::uint32_t>(matrices);
    const bool is_persistent = config_.split_k == 1;
    const int workers =
        is_persistent ? even_waves(tiles, active_clusters(device, config_)) : static_cast<int>(tiles);
    const bool has_one_tile = tiles <= static_cast<std::uint32_t>(workers);
    num_ctas_ = static_cast<unsigned>(workers) * static_cast<unsigned>(cluster_size(config_));

    params_.shape = shape;
    params_.batch_count = matrices;
    params_.grid = grid;
    params_.num_tiles = tiles;
    params_.a_major = args.a.major;
    params_.b_major = args.b.major;
    params_.a_is_batched = args.a.batch_stride != 0;
    params_.b_is_batched = args.b.batch_stride != 0;
    params_.is_fp16 = args.input_type == DataType::Float16;
    params_.stores_by_tma = config_.workspace_split_k == 1 && can_store_by_tma(problem);
    // The curve pays where a wave is followed by others, which find in L2 what it has left there.
    params_.order = has_one_tile ? cooperative::TileOrder::Columns : cooperative::TileOrder::Hilbert;
    params_.split = config_.split_k;
    const int k_blocks = k_blocks_of_cluster(args, config_);
    params_.k_blocks = k_blocks / config_.split_k;
    params_.longer_parts = k_blocks % config_.split_k;
    params_.used_stages =
        has_one_tile ? std::min(kernel.stages, ceil_div(k_blocks, config_.split_k)) : kernel.stages;
    params_.a_lines = loaded_lines(args.a, shape.m, kernel.block_m, kernel.cluster_n);
    params_.b_lines = loaded_lines(args.b, shape.n, kernel.block_n, kernel.cluster_m);
    // What is loaded of MN-major rows, stored or read at a time is aligned.
    constexpr int kVectorElems = 8;
    const bool may_end_with_m = args.a.major == OperandMajor::K || shape.m % kVectorElems == 0;
    const bool may_end_with_n = shape.n % kVectorElems == 0;
    params_.last_m0 = may_end_with_m ? last_start(shape.m, kernel.block_m) : kNoLastStart;
    params_.last_n0 = may_end_with_n ? last_start(shape.n, kernel.block_n) : kNoLastStart;
    params_.prefetched_k_blocks = overlaps_ && has_one_tile ? prefetched_stages(args, config_) : 0;
    params_.triggers_dependents = problem.programmatic_dependent_launch;
    params_.workspace_split_k = config_.workspace_split_k;
    params_.cluster_k_blocks = k_blocks;
    workspace_bytes_ = library::workspace_bytes(args, config_);
    is_alpha_only_ = config_.workspace_split_k == 1 && is_alpha_only(problem);

    std::iota(std::begin(positions_.position), std::end(positions_.position), std::uint8_t{0});
    if (params_.order == cooperative::TileOrder::Hilbert && cluster_size(kernel) == 2 &&
        workers <= ClusterPositions::kMaxClusters) {
      positions_ = positions_by_gpc(known_cluster_placement(), workers);
    }
  }

  /// What the constructor cannot say that it failed at.
  Status encode_tensor_maps(const KernelArgs& args) {
    const KernelConfig& kernel = config_.kernel;
    const int m = args.shape.m;
    const int n = args.shape.n;
    HG_RETURN_IF_ERROR(encode_input("A", args.a, args, m, params_.a_lines, kernel.cluster_n, &tensor_map_a_));
    HG_RETURN_IF_ERROR(encode_input("B", args.b, args, n, params_.b_lines, kernel.cluster_m, &tensor_map_b_));
    if (!params_.stores_by_tma) return {};
    const GemmEpilogue& epilogue = args.epilogue;
    const int box_n = kStoreBufferBytes / 16 / size_of(epilogue.output_type);
    return encode("D", tensor_map_type(epilogue.output_type), {n, m, args.batch_count}, epilogue.ldd,
                  epilogue.d_batch_stride, {box_n, 16, 1}, &tensor_map_d_);
  }

  Status launch(const KernelArgs& args, void* workspace, cudaStream_t stream) const override {
    if (rest_ != nullptr && args.epilogue.beta != 0) return rest_->launch(args, workspace, stream);
    if (config_.workspace_split_k == 1) return launch_kernel(args, args.epilogue, stream);
    const GemmShape shape = args.shape;
    GemmEpilogue partials;
    partials.d = workspace;
    partials.ldd = partials_ld(shape);
    partials.d_batch_stride = shape.m * partials.ldd;
    partials.output_type = DataType::Float32;
    HG_RETURN_IF_ERROR(launch_kernel(args, partials, stream));
    return launch_reduce_partials({.data = static_cast<const float*>(workspace),
                                   .leading_dimension = partials.ldd,
                                   .stride = partials.d_batch_stride,
                                   .count = config_.workspace_split_k},
                                  args.epilogue, shape, args.batch_count, params_.triggers_dependents,
                                  stream);
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  const std::string& config() const override { return name_; }
  std::string explain() const override { return reason_; }

 private:
  Status launch_kernel(const KernelArgs& args, const GemmEpilogue& epilogue, cudaStream_t stream) const {
    TensorMap tensor_map_a = tensor_map_a_;
    TensorMap tensor_map_b = tensor_map_b_;
    TensorMap tensor_map_d = tensor_map_d_;
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.a.data, &tensor_map_a));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &tensor_map_b));
    if (params_.stores_by_tma) {
      HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.d, &tensor_map_d));
    }
    cooperative::Params params = params_;
    params.epilogue = epilogue;
    if (epilogue.beta != 0) params.last_m0 = params.last_n0 = kNoLastStart;

    // Each attribute makes a launch take longer.
    std::array<cudaLaunchAttribute, 2> attributes{};
    unsigned num_attributes = 0;
    if (cluster_size(config_) > 1) attributes[num_attributes++] = cluster_attribute(cluster_size(config_));
    if (overlaps_) attributes[num_attributes++] = programmatic_dependent_launch_attribute();
    cudaLaunchConfig_t config =
        launch_config(dim3(num_ctas_), num_threads(config_.kernel), instance_.smem_bytes, attributes.data());
    config.numAttrs = num_attributes;
    config.stream = stream;
    const cooperative::Kernel kernel =
        is_alpha_only_ && epilogue.beta == 0 ? instance_.alpha_only : instance_.general;
    HG_RETURN_IF_CUDA_ERROR(
        cudaLaunchKernelEx(&config, kernel, tensor_map_a, tensor_map_b, tensor_map_d, params, positions_));
    return {};
  }

  GemmConfig config_;
  const cooperative::Instance& instance_;
  std::unique_ptr<const PreparedGemm> rest_;
  std::string name_;
  std::string reason_;
  bool overlaps_;
  std::size_t workspace_bytes_;
  unsigned num_ctas_;
  bool is_alpha_only_;  // with beta 0
  TensorMap tensor_map_a_{};
  TensorMap tensor_map_b_{};
  TensorMap tensor_map_d_{};      // unused unless TMA stores D
  cooperative::Params params_{};  // where beta is 0
  ClusterPositions positions_{};
};

/// Of A or B for a kernel for small M, see launch_small_m(). lines: all of it; box_lines: of a stage.
Status encode_stages(const char* name, const OperandArgs& operand, const KernelArgs& args,
                     const KernelConfig& kernel, int lines, int box_lines, TensorMap* tensor_map) {
  constexpr std::int64_t kBlockBytes = kBlockK * kInputBytes;
  const bool is_whole = loads_whole_stages(kernel, args.shape.k);
  const std::int64_t block = is_whole ? kBlockK : args.shape.k;
  const std::int64_t batches = operand.batch_stride == 0 ? 1 : args.batch_count;
  const std::array<std::int64_t, 4> extents = {block, lines, args.shape.k / block, batches};
  const std::int64_t line_stride_bytes = operand.leading_dimension * kInputBytes;
  // The manual of cuTensorMapEncodeTiled has each stride span the dimension before it. Blocks lie within lines, and
  // have the smaller one: drivers take that.
  const std::array<std::int64_t, 3> strides_bytes = {
      line_stride_bytes, kBlockBytes,
      batch_stride_bytes(batches, operand.batch_stride * kInputBytes, lines, line_stride_bytes)};
  const std::array<int, 4> box = {kBlockK, box_lines, is_whole ? kernel.block_k / kBlockK : 1, 1};
  return encode(name, tensor_map_type(args.input_type), extents, strides_bytes, box, tensor_map);
}

/// A kernel for small M that can_compute() the problem.
class PreparedSmallM final : public PreparedGemm {
 public:
  PreparedSmallM(const Problem& problem, const GemmConfig& config, bool overlaps, std::string name,
                 std::string reason)
      : config_(config),
        name_(std::move(name)),
        reason_(std::move(reason)),
        overlaps_(overlaps),
        triggers_dependents_(problem.programmatic_dependent_launch),
        is_alpha_only_(is_alpha_only(problem) &&
                       problem.args.epilogue.output_type == problem.args.input_type) {}

  Status encode_tensor_maps(const KernelArgs& args) {
    const KernelConfig& kernel = config_.kernel;
    const int m = args.shape.m;
    HG_RETURN_IF_ERROR(encode_stages("A", args.a, args, kernel, m, loaded_lines(args.a, m, kernel.block_m, 1),
                                     &tensor_map_a_));
    return encode_stages("B", args.b, args, kernel, args.shape.n, kernel.block_n, &tensor_map_b_);
  }

  Status launch(const KernelArgs& args, void*, cudaStream_t stream) const override {
    TensorMap tensor_map_a = tensor_map_a_;
    TensorMap tensor_map_b = tensor_map_b_;
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.a.data, &tensor_map_a));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &tensor_map_b));
    return launch_small_m(config_.kernel, config_.split_k, tensor_map_a, tensor_map_b, args,
                          {.overlaps = overlaps_,
                           .triggers_dependents = triggers_dependents_,
                           .is_alpha_only = is_alpha_only_ && args.epilogue.beta == 0},
                          stream);
  }

  std::size_t workspace_bytes() const override { return 0; }
  const std::string& config() const override { return name_; }
  std::string explain() const override { return reason_; }

 private:
  GemmConfig config_;
  std::string name_;
  std::string reason_;
  bool overlaps_;
  bool triggers_dependents_;
  bool is_alpha_only_;  // with beta 0
  TensorMap tensor_map_a_{};
  TensorMap tensor_map_b_{};
};

/// Whether pairs of the bias, from even elements on, are aligned to their size.
bool has_aligned_bias(const GemmEpilogue& epilogue) {
  const auto pair_bytes = 2 * static_cast<std::uintptr_t>(size_of(epilogue.bias_type));
  return epilogue.bias_kind == Bias::None ||
         (reinterpret_cast<std::uintptr_t>(epilogue.bias) % pair_bytes == 0 &&
          epilogue.bias_batch_stride % 2 == 0);
}

MixedNInputs inputs_of(const KernelArgs& args) { return {args.input_type, args.a.major, args.b.major}; }

/// A kernel with a mixed tile N that can_compute() the problem.
class PreparedMixedN final : public PreparedGemm {
 public:
  /// rest: of the same problem, for launches whose beta is not 0.
  PreparedMixedN(const Problem& problem, const Device& device, const GemmConfig& config,
                 std::unique_ptr<const PreparedGemm> rest, std::string reason)
      : kernel_(mixed_n_kernel(config.kernel)),
        rest_(std::move(rest)),
        name_(name_of(config)),
        reason_(std::move(reason)),
        is_alpha_only_(is_alpha_only(problem) &&
                       problem.args.epilogue.output_type == problem.args.input_type),
        columns_(split_columns(problem.args.shape, wide_and_narrow(config.kernel),
                               k_blocks_of(config.kernel, problem.args.shape.k),
                               std::min(active_clusters(device, config), ClusterPositions::kMaxClusters))),
        positions_(positions_by_gpc(known_cluster_placement(), columns_.workers)) {}

  Status encode_tensor_maps(const KernelArgs& args) {
    const int m = args.shape.m;
    const int n = args.shape.n;
    const MixedNBoxes& boxes = kernel_.boxes;
    HG_RETURN_IF_ERROR(encode_input("A", args.a, args, m, boxes.a_rows, 1, &maps_.a));
    HG_RETURN_IF_ERROR(encode_input("B", args.b, args, n, boxes.b_rows, 1, &maps_.b));
    HG_RETURN_IF_ERROR(encode_input("B", args.b, args, n, boxes.b_narrow_rows, 1, &maps_.b_narrow));
    const GemmEpilogue& epilogue = args.epilogue;
    constexpr int kWordBytes = 2;
    const int box_n = boxes.d_columns * kWordBytes / size_of(epilogue.output_type);
    return encode("D", tensor_map_type(epilogue.output_type), {n, m, 1}, epilogue.ldd, 0,
                  {box_n, boxes.d_rows, 1}, &maps_.d);
  }

  Status launch(const KernelArgs& args, void* workspace, cudaStream_t stream) const override {
    const GemmEpilogue& epilogue = args.epilogue;
    if (epilogue.beta != 0) return rest_->launch(args, workspace, stream);
    MixedNMaps maps = maps_;
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.a.data, &maps.a));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &maps.b));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &maps.b_narrow));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.d, &maps.d));
    const EpilogueParams params = {epilogue, args.shape, has_aligned_bias(epilogue)};
    return kernel_.launch(maps,
                          {.inputs = inputs_of(args),
                           .epilogue_kind = is_alpha_only_ ? EpilogueKind::AlphaOnly : EpilogueKind::General,
                           .epilogue = params,
                           .columns = columns_,
                           .positions = positions_},
                          stream);
  }

  std::size_t workspace_bytes() const override { return 0; }
  const std::string& config() const override { return name_; }
  std::string explain() const override { return reason_; }

 private:
  const MixedNKernel& kernel_;
  std::unique_ptr<const PreparedGemm> rest_;
  std::string name_;
  std::string reason_;
  bool is_alpha_only_;  // with beta 0
  ColumnSplit columns_;
  ClusterPositions positions_;
  MixedNMaps maps_{};
};

std::string text_of(const Estimate& estimate) {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f", estimate.time_us);
  return name_of(estimate.config) + ": " + time + " us, " + std::to_string(estimate.waves) +
         (estimate.waves == 1 ? " wave" : " waves");
}

std::vector<std::string> configs() {
  std::vector<std::string> names;
  for (const GemmConfig& config : all_configs()) names.push_back(name_of(config));
  return names;
}

/// By a configuration whose kernel can_compute() the problem. rest, name: as PreparedCooperative takes them.
Status prepare_config(const Problem& problem, const Device& device, const GemmConfig& config, bool overlaps,
                      std::unique_ptr<const PreparedGemm> rest, const std::string& name,
                      const std::string& reason, std::unique_ptr<const PreparedGemm>* prepared) {
  const auto finish = [&](auto made) {
    HG_RETURN_IF_ERROR(made->encode_tensor_maps(problem.args));
    *prepared = std::move(made);
    return Status();
  };
  const KernelConfig& kernel = config.kernel;
  if (kernel.narrow_n != 0) {
    HG_RETURN_IF_ERROR(mixed_n_kernel(kernel).load(inputs_of(problem.args)));
    return finish(std::make_unique<PreparedMixedN>(problem, device, config, std::move(rest), reason));
  }
  if (kernel.schedule == Schedule::SmallM) {
    HG_RETURN_IF_ERROR(load_small_m(kernel));
    return finish(std::make_unique<PreparedSmallM>(problem, config, overlaps, name, reason));
  }
  const cooperative::Instance& instance = instance_of(kernel);
  for (const cooperative::Kernel function : {instance.alpha_only, instance.general}) {
    if (function == nullptr) continue;
    HG_RETURN_IF_ERROR(load_kernel(function));
    HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(function, instance.smem_bytes));
  }
  if (config.workspace_split_k > 1) HG_RETURN_IF_ERROR(load_reduce_partials());
  return finish(std::make_unique<PreparedCooperative>(problem, device, config, overlaps, std::move(rest),
                                                      name, reason));
}

/// What PreparedGemm::explain() says of a choice. general: what runs where beta is not 0, or null if that is the same.
std::string explain(const Estimate& chosen, std::span<const Estimate> estimates, const Estimate* general,
                    std::string reason) {
  constexpr std::size_t kOthers = 3;
  reason += "; estimates:\n  " + text_of(chosen);
  for (const Estimate& other : estimates.first(std::min(kOthers, estimates.size()))) {
    if (&other != &chosen) reason += "\n  " + text_of(other);
  }
  if (general != nullptr) {
    reason += "\nwhere beta is not 0, and without the time to read C:\n  " + text_of(*general);
  }
  return reason;
}

bool is_schedule(std::string_view name) {
  return std::any_of(kSchedules.begin(), kSchedules.end(),
                     [&](Schedule schedule) { return name_of(schedule) == name; });
}

Status prepare(const Problem& problem, const Device& device, const std::string& requested,
               std::unique_ptr<const PreparedGemm>* prepared) {
  const bool has_name = !requested.empty() && !is_schedule(requested);
  const std::vector<Estimate> estimates = ranked(problem, active_clusters_of(device));
  const auto find = [&](std::string_view name) {
    return std::find_if(estimates.begin(), estimates.end(),
                        [&](const Estimate& estimate) { return name_of(estimate.config) == name; });
  };
  // What kernels of fewer operations leave. Partials would need a workspace that the plan does not speak of.
  const auto is_general = [](const Estimate& estimate) {
    return estimate.config.kernel.epilogues == Epilogues::All && estimate.config.workspace_split_k == 1;
  };
  auto general = std::find_if(estimates.begin(), estimates.end(), is_general);
  auto chosen = estimates.begin();
  std::string reason = "estimated to be the fastest";
  if (is_schedule(requested)) {
    chosen = std::find_if(estimates.begin(), estimates.end(), [&](const Estimate& estimate) {
      return name_of(estimate.config.kernel.schedule) == requested;
    });
    if (chosen == estimates.end())
      return unsupported("no kernel of the schedule " + requested + " computes it");
    reason = "estimated to be the fastest of the schedule that was asked for";
  } else if (!requested.empty()) {
    const std::optional<GemmConfig> asked = find_config(requested);
    if (!asked.has_value()) return invalid_argument("there is no configuration " + requested);
    const std::string fault = fault_of(problem, *asked);
    if (!fault.empty()) return unsupported(requested + ": " + fault);
    if (active_clusters(device, *asked) == 0) {
      return unsupported(requested + ": the GPU runs no cluster of so many CTAs");
    }
    const bool serves = can_compute(asked->kernel, problem);
    chosen = serves ? find(requested) : general;
    reason =
        serves ? "asked for" : "asked for, but its kernel does not compute such a problem, and another does";
  } else if (const auto tuned = find(tuned_config(problem.args, device)); tuned != estimates.end()) {
    chosen = tuned;
    reason = "measured as fast for this shape on an H200";
  }
  if (chosen == estimates.end() || general == estimates.end()) {
    return unsupported("wgmma: the GPU has no room for a CTA");
  }
  const auto prepare_by = [&](const Estimate& estimate, const std::string& name,
                              std::unique_ptr<const PreparedGemm> rest,
                              std::unique_ptr<const PreparedGemm>* made) {
    const bool has_rest = rest != nullptr;
    const bool overlaps = problem.programmatic_dependent_launch && estimate.overlaps;
    return prepare_config(problem, device, estimate.config, overlaps, std::move(rest), name,
                          explain(estimate, estimates, has_rest ? &*general : nullptr, reason), made);
  };
  const auto prepare_with_rest = [&](const Estimate& estimate) {
    const std::string name = has_name ? requested : name_of(estimate.config);
    std::unique_ptr<const PreparedGemm> rest;
    if (estimate.config.kernel.epilogues != Epilogues::All) {
      // The driver may refuse the tensor maps of one configuration and take those of the next.
      while (rest == nullptr) {
        const Status status = prepare_by(*general, name, nullptr, &rest);
        if (status.ok()) continue;
        const auto next = std::find_if(general + 1, estimates.end(), is_general);
        if (status.code() != StatusCode::Unsupported || next == estimates.end()) return status;
        general = next;
      }
    }
    return prepare_by(estimate, name, std::move(rest), prepared);
  };
  auto candidate = chosen;
  for (auto next = estimates.begin();; ++next) {
    const Status status = prepare_with_rest(*candidate);
    if (status.code() != StatusCode::Unsupported || !requested.empty()) return status;
    if (next == chosen) ++next;
    if (next == estimates.end()) return status;
    if (candidate == chosen) {
      reason = "chosen after " + name_of(chosen->config) + " failed (" + status.message() + ")";
    }
    candidate = next;
  }
}

std::vector<std::string> ranked_configs(const Problem& problem, const Device& device) {
  std::vector<std::string> names;
  for (const Estimate& estimate : ranked(problem, active_clusters_of(device))) {
    names.push_back(name_of(estimate.config));
  }
  return names;
}

}  // namespace
}  // namespace wgmma

const Backend& wgmma_backend() {
  static constexpr auto kFamilies = [] {
    std::array<std::string_view, kSchedules.size()> names{};
    std::transform(kSchedules.begin(), kSchedules.end(), names.begin(),
                   [](Schedule schedule) { return name_of(schedule); });
    return names;
  }();
  static constexpr Backend kBackend = {"wgmma",        kFamilies,      wgmma::can_implement,
                                       wgmma::prepare, wgmma::configs, wgmma::ranked_configs};
  return kBackend;
}

}  // namespace hopper_gemm::library
