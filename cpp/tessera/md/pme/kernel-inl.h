// Contains the bodies of the mesh loops; kernel.cpp includes it once for each instruction set.
#include <algorithm>

#include "tessera/base/simd/rounding-inl.h"
#include "tessera/md/lane_sums/lane_sums-inl.h"
#include "tessera/md/pme/spline-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pme {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D4 = hn::FixedTag<float, 4>;
using V4 = hn::Vec<D4>;
using DI4 = hn::RebindToSigned<D4>;

constexpr std::size_t lanes = hn::MaxLanes(D());

// An atom's row along z takes as few vectors as possible: eight floats are one vector from AVX2 on.
template <int order>
using RowTag = hn::CappedTag<float, (order > 4 ? 8 : 4)>;
template <int order>
constexpr int row_parts = (order > 4 ? 8 : 4) / static_cast<int>(hn::MaxLanes(RowTag<order>()));

/// Returns part `part` of a row of weights that are stored in fours, `apart` floats from one four to the next.
template <class Tag>
HWY_INLINE hn::Vec<Tag> RowWeights(Tag tag, const float* fours, std::size_t apart, int part) {
  if constexpr (hn::MaxLanes(tag) == 8) {
    const D4 d4;
    return hn::Combine(tag, hn::Load(d4, fours + apart), hn::Load(d4, fours));
  } else {
    return hn::Load(tag, fours + static_cast<std::size_t>(part) * apart);
  }
}

/// Computes the splines of several atoms, one atom per lane.
template <int order, bool with_slopes>
struct Block {
  static constexpr int parts = order > 4 ? 2 : 1;  // groups of four that an atom's weights fill

  alignas(64) std::int32_t fraction[3][lanes];
  alignas(64) std::int32_t first[3][lanes];
  alignas(64) float weight[3][parts][4 * lanes];  // atom's weight j at [j / 4][4·atom + j % 4]
  alignas(64) float slope[3][parts][4 * lanes];

  HWY_INLINE void prepare(const MeshWindow& window) {
    const DI di;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto place = Locate(hn::Load(di, fraction[d]), static_cast<std::uint32_t>(window.grid[d]),
                                static_cast<std::uint32_t>(window.offset[d]));
      hn::Store(place.first, di, first[d]);
      V weights[8], slopes[8];
      FillSpline<order>(place.rest, weights, slopes);
      if constexpr (order == 6) weights[6] = weights[7] = slopes[6] = slopes[7] = hn::Zero(D());
#pragma GCC unroll 2
      for (int part = 0; part < parts; ++part) {
        const V* p = weights + 4 * part;
        hn::StoreInterleaved4(p[0], p[1], p[2], p[3], D(), weight[d][part]);
        if constexpr (with_slopes) {
          const V* s = slopes + 4 * part;
          hn::StoreInterleaved4(s[0], s[1], s[2], s[3], D(), slope[d][part]);
        }
      }
    }
  }
};

/// Adds one atom's rows [i_begin, i_end) at `corner`, its first point.
template <int order, class Block>
HWY_INLINE void AddRows(const MeshWindow& window, const Block& block, std::size_t lane, float charge,
                        std::int32_t* HWY_RESTRICT corner, std::size_t i_begin, std::size_t i_end) {
  using Row = RowTag<order>;
  constexpr int parts = row_parts<order>;
  const Row tag;
  const hn::RebindToSigned<Row> integers;
  hn::Vec<Row> wz[parts];
#pragma GCC unroll 2
  for (int part = 0; part < parts; ++part) wz[part] = RowWeights(tag, &block.weight[2][0][4 * lane], 4 * lanes, part);
  for (std::size_t i = i_begin; i < i_end; ++i) {
    const float wx = charge * block.weight[0][i / 4][4 * lane + i % 4];
    hn::Vec<Row> wxz[parts];
#pragma GCC unroll 2
    for (int part = 0; part < parts; ++part) wxz[part] = hn::Mul(hn::Set(tag, wx), wz[part]);
    std::int32_t* row = corner + static_cast<std::int64_t>(i) * window.stride_x;
#pragma GCC unroll 8
    for (int j = 0; j < order; ++j, row += window.stride_y) {
      const auto wy = hn::Set(tag, block.weight[1][j / 4][4 * lane + static_cast<std::size_t>(j % 4)]);
#pragma GCC unroll 2
      for (int part = 0; part < parts; ++part) {
        std::int32_t* points = row + part * static_cast<int>(hn::MaxLanes(tag));
        hn::StoreU(hn::Add(hn::LoadU(integers, points), simd::ToIntegers(hn::Mul(wy, wxz[part]))), integers, points);
      }
    }
  }
}

template <int order>
void SpreadOrder(const SpreadTarget<float>& target, const std::int32_t* atoms, std::size_t n, const Fraction* position,
                 const float* charge) {
  const MeshWindow window = target.window;  // a copy: the compiler must assume that the mesh aliases the target
  const std::int64_t x_begin = target.x_begin, x_end = target.x_end;
  std::int32_t* mesh = target.mesh;
  Block<order, false> block;
  float q[lanes];
  for (std::size_t done = 0; done < n; done += lanes) {
    const std::size_t count = n - done < lanes ? n - done : lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto atom = static_cast<std::size_t>(atoms[done + (lane < count ? lane : 0)]);
      block.fraction[0][lane] = position[atom].x;
      block.fraction[1][lane] = position[atom].y;
      block.fraction[2][lane] = position[atom].z;
      q[lane] = charge[atom] * static_cast<float>(charge_scale<float>);
    }
    block.prepare(window);
    for (std::size_t lane = 0; lane < count; ++lane)
      for (std::int64_t x = block.first[0][lane]; x + order <= window.extent[0]; x += window.grid[0]) {
        const std::int64_t i_begin = std::max<std::int64_t>(x_begin - x, 0);
        const std::int64_t i_end = std::min<std::int64_t>(x_end - x, order);
        if (i_begin >= i_end) continue;
        for (std::int64_t y = block.first[1][lane]; y + order <= window.extent[1]; y += window.grid[1])
          for (std::int64_t z = block.first[2][lane]; z + order <= window.extent[2]; z += window.grid[2])
            AddRows<order>(window, block, lane, q[lane], mesh + x * window.stride_x + y * window.stride_y + z,
                           static_cast<std::size_t>(i_begin), static_cast<std::size_t>(i_end));
      }
  }
}

void Spread(const SpreadTarget<float>& target, int order, const std::int32_t* atoms, std::size_t n,
            const Fraction* position, const float* charge) {
  if (order == 4) return SpreadOrder<4>(target, atoms, n, position, charge);
  if (order == 6) return SpreadOrder<6>(target, atoms, n, position, charge);
  SpreadOrder<8>(target, atoms, n, position, charge);
}

/// Holds one atom's sums, still in four lanes along z.
struct Sums {
  V4 x, y, z;
};

/// Multiplies the points of a row by weights that are stored in fours, and adds up to four lanes: the same for rows of
/// one register and of two.
template <int parts, class Tag>
HWY_INLINE V4 InFour(Tag tag, const hn::Vec<Tag>* row, const float* fours) {
  const D4 d4;
  const auto product = [&](int part) HWY_ATTR { return hn::Mul(row[part], RowWeights(tag, fours, 4 * lanes, part)); };
  if constexpr (hn::MaxLanes(tag) == 8) {
    const auto eight = product(0);
    return hn::Add(hn::LowerHalf(d4, eight), hn::UpperHalf(d4, eight));
  } else if constexpr (parts == 2) {
    return hn::Add(product(0), product(1));
  } else {
    return product(0);
  }
}

template <int order, class Block>
HWY_INLINE Sums SumRows(const MeshWindow& window, const Block& block, std::size_t lane,
                        const float* HWY_RESTRICT corner) {
  using Row = RowTag<order>;
  constexpr int parts = row_parts<order>;
  const Row tag;
  hn::Vec<Row> x[parts], y[parts], z[parts];
#pragma GCC unroll 2
  for (int part = 0; part < parts; ++part) x[part] = y[part] = z[part] = hn::Zero(tag);
#pragma GCC unroll 8
  for (int i = 0; i < order; ++i) {
    hn::Vec<Row> sum[parts], slope[parts];
#pragma GCC unroll 2
    for (int part = 0; part < parts; ++part) sum[part] = slope[part] = hn::Zero(tag);
    const float* row = corner + i * window.stride_x;
#pragma GCC unroll 8
    for (int j = 0; j < order; ++j, row += window.stride_y) {
      const auto at = 4 * lane + static_cast<std::size_t>(j % 4);
      const auto wy = hn::Set(tag, block.weight[1][j / 4][at]), sy = hn::Set(tag, block.slope[1][j / 4][at]);
#pragma GCC unroll 2
      for (int part = 0; part < parts; ++part) {
        const auto value = hn::LoadU(tag, row + part * static_cast<int>(hn::MaxLanes(tag)));
        sum[part] = simd::MulAdd(wy, value, sum[part]);
        slope[part] = simd::MulAdd(sy, value, slope[part]);
      }
    }
    const auto at = 4 * lane + static_cast<std::size_t>(i % 4);
    const auto wx = hn::Set(tag, block.weight[0][i / 4][at]), sx = hn::Set(tag, block.slope[0][i / 4][at]);
#pragma GCC unroll 2
    for (int part = 0; part < parts; ++part) {
      x[part] = simd::MulAdd(sx, sum[part], x[part]);
      y[part] = simd::MulAdd(wx, slope[part], y[part]);
      z[part] = simd::MulAdd(wx, sum[part], z[part]);
    }
  }
  const float *weights = &block.weight[2][0][4 * lane], *slopes = &block.slope[2][0][4 * lane];
  return {InFour<parts>(tag, x, weights), InFour<parts>(tag, y, weights), InFour<parts>(tag, z, slopes)};
}

HWY_INLINE V SumOfFour(const float* values) {
  V a, b, c, d;
  hn::LoadInterleaved4(D(), values, a, b, c, d);
  return hn::Add(hn::Add(a, b), hn::Add(c, d));
}

template <int order>
bool GatherOrder(const MeshWindow& window_, const float* mesh, std::size_t n, const Fraction* position,
                 const float* charge, float* gradient) {
  const MeshWindow window = window_;
  Block<order, true> block;
  alignas(64) float partial[3][4 * lanes];
  alignas(64) float result[3 * lanes];
  bool all_fit = true;
  for (std::size_t done = 0; done < n; done += lanes) {
    const std::size_t count = n - done < lanes ? n - done : lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto& p = position[done + (lane < count ? lane : 0)];
      block.fraction[0][lane] = p.x;
      block.fraction[1][lane] = p.y;
      block.fraction[2][lane] = p.z;
    }
    block.prepare(window);
    const D4 d4;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Sums sums{hn::Zero(d4), hn::Zero(d4), hn::Zero(d4)};
      if (lane < count && charge[done + lane] != 0) {
        const std::int64_t x = block.first[0][lane], y = block.first[1][lane], z = block.first[2][lane];
        const bool fits =
            x + order <= window.extent[0] && y + order <= window.extent[1] && z + order <= window.extent[2];
        if (fits)
          sums = SumRows<order>(window, block, lane, mesh + x * window.stride_x + y * window.stride_y + z);
        else
          all_fit = false;
      }
      hn::Store(sums.x, d4, &partial[0][4 * lane]);
      hn::Store(sums.y, d4, &partial[1][4 * lane]);
      hn::Store(sums.z, d4, &partial[2][4 * lane]);
    }
    hn::StoreInterleaved3(SumOfFour(partial[0]), SumOfFour(partial[1]), SumOfFour(partial[2]), D(), result);
    for (std::size_t i = 0; i < 3 * count; ++i) gradient[3 * done + i] = result[i];
  }
  return all_fit;
}

bool Gather(const MeshWindow& window, const float* mesh, int order, std::size_t n, const Fraction* position,
            const float* charge, float* gradient) {
  if (order == 4) return GatherOrder<4>(window, mesh, n, position, charge, gradient);
  if (order == 6) return GatherOrder<6>(window, mesh, n, position, charge, gradient);
  return GatherOrder<8>(window, mesh, n, position, charge, gradient);
}

void AddForces(std::size_t n, const float* charge, const float* gradient, const Vec3* to_force, std::int64_t* force) {
  namespace sums = lane_sums::HWY_NAMESPACE;
  const sums::D d;
  constexpr std::size_t width = hn::MaxLanes(sums::D());
  std::size_t i = 0;
  if constexpr (width >= 4) {
    const hn::Rebind<float, sums::D> single;
    for (; i + width <= n; i += width) {
      auto gx = hn::Zero(single), gy = gx, gz = gx;
      hn::LoadInterleaved3(single, gradient + 3 * i, gx, gy, gz);
      const auto q = hn::PromoteTo(d, hn::LoadU(single, charge + i));
      const auto x = hn::Mul(q, hn::PromoteTo(d, gx)), y = hn::Mul(q, hn::PromoteTo(d, gy)),
                 z = hn::Mul(q, hn::PromoteTo(d, gz));
      const auto component = [&](double of_x, double of_y, double of_z) HWY_ATTR {
        const auto xy = hn::Add(hn::Mul(x, hn::Set(d, of_x)), hn::Mul(y, hn::Set(d, of_y)));
        return sums::FixedForce(hn::Add(xy, hn::Mul(z, hn::Set(d, of_z))));
      };
      sums::AddToRow(sums::DL(), component(to_force[0].x, to_force[1].x, to_force[2].x),
                     component(to_force[0].y, to_force[1].y, to_force[2].y),
                     component(to_force[0].z, to_force[1].z, to_force[2].z), force + 3 * i);
    }
  }
  add_forces_reference(static_cast<std::int64_t>(n - i), charge + i, gradient + 3 * i, to_force, force + 3 * i);
}

std::int64_t Convert(const std::int32_t* HWY_RESTRICT fixed, float* HWY_RESTRICT charge, std::size_t n) {
  const DI di;
  const V scale = set(static_cast<float>(1 / charge_scale<float>));
  auto greatest = hn::Zero(di), least = hn::Zero(di);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(di, fixed + i);
    greatest = hn::Max(greatest, value);
    least = hn::Min(least, value);
    hn::StoreU(hn::Mul(hn::ConvertTo(D(), value), scale), D(), charge + i);
  }
  std::int64_t most = hn::GetLane(hn::MaxOfLanes(di, greatest)), fewest = hn::GetLane(hn::MinOfLanes(di, least));
  for (; i < n; ++i) {
    most = fixed[i] > most ? fixed[i] : most;
    fewest = fixed[i] < fewest ? fixed[i] : fewest;
    charge[i] = static_cast<float>(fixed[i]) * static_cast<float>(1 / charge_scale<float>);
  }
  return most > -fewest ? most : -fewest;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pme
HWY_AFTER_NAMESPACE();
