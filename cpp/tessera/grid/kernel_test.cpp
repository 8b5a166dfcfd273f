// Tests the kernel of stencils against sums in plain loops, bit for bit: stars of all radii and other stencils, rows of
// all lengths, wherever fields and results begin, written through or past the caches.
#include "tessera/grid/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

#include "tessera/base/test_support/instruction_sets.h"

namespace tessera::grid {
namespace {

using Kind = RowEnds<double>::Kind;

struct Case {
  Index3 shape{};
  std::int64_t components = 1;
  Kind ends = Kind::wrap;
  double phase_angle = 0;  // of the edge along z
  std::size_t from_offset = 0, to_offset = 0;
  bool streams = false, has_addend = false, replaces_addend = false;
};

/// A field whose edges along x and y are periodic.
template <class Real>
class Field {
 public:
  Field(const Stencil& stencil, const Case& one)
      : stencil_(stencil), one_(one), n_(one.shape[2] * one.components), reach_(stencil.reach()) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    memory_.resize(one.from_offset + static_cast<std::size_t>(one.shape[0] * one.shape[1] * n_));
    for (auto& value : memory_) value = static_cast<Real>(uniform(random));
    ends_.resize(static_cast<std::size_t>((one.shape[0] + reach_[0][0] + reach_[1][0]) *
                                          (one.shape[1] + reach_[0][1] + reach_[1][1]) * (reach_[0][2] + reach_[1][2]) *
                                          one.components));
    for (auto& value : ends_) value = static_cast<Real>(uniform(random));
    phases_ = {std::polar<Real>(1, static_cast<Real>(-one.phase_angle)),
               std::polar<Real>(1, static_cast<Real>(one.phase_angle))};
  }

  const Real* values() const { return memory_.data() + one_.from_offset; }
  std::size_t size() const { return memory_.size() - one_.from_offset; }

  FieldRows<Real> rows() const {
    FieldRows<Real> rows;
    rows.extents = one_.shape;
    rows.components = one_.components;
    rows.reach = reach_;
    for (auto x = -reach_[0][0]; x < one_.shape[0] + reach_[1][0]; ++x) {
      rows.rows.push_back(row(x, 0));
      for (auto y = -reach_[0][1]; y < 0; ++y) rows.rows.push_back(row(x, y));
      for (std::int64_t y = 0; y < reach_[1][1]; ++y) rows.rows.push_back(row(x, one_.shape[1] + y));
    }
    rows.ends.kind = static_cast<typename RowEnds<Real>::Kind>(one_.ends);
    rows.ends.values = ends_.data();
    rows.ends.phases = phases_;
    rows.ends.is_turned = one_.phase_angle != 0;
    return rows;
  }

  std::vector<Real> expected(const RowStencil<Real>& kernel, const Addend<Real>& addend) const {
    std::vector<Real> result;
    for (std::int64_t x = 0; x < one_.shape[0]; ++x)
      for (std::int64_t y = 0; y < one_.shape[1]; ++y)
        for (std::int64_t i = 0; i < n_; ++i) {
          Real sum = addend.values == nullptr ? 0 : addend.factor * addend.values[result.size()];
          for (std::size_t k = 0; k < kernel.coefficients.size(); ++k) {
            const auto& from = kernel.neighbours[static_cast<std::size_t>(kernel.neighbour_of_term[k])];
            const Real read = at(x + from.x, y + from.y, i + kernel.steps[k]);
            sum = k == 0 && addend.values == nullptr ? kernel.coefficients[k] * read
                                                     : std::fma(kernel.coefficients[k], read, sum);
          }
          result.push_back(sum);
        }
    return result;
  }

 private:
  const Real* row(std::int64_t x, std::int64_t y) const {
    const auto inside = [](std::int64_t i, std::int64_t n) { return ((i % n) + n) % n; };
    return values() + (inside(x, one_.shape[0]) * one_.shape[1] + inside(y, one_.shape[1])) * n_;
  }

  /// Returns a number that may lie beyond the ends of a row.
  Real at(std::int64_t x, std::int64_t y, std::int64_t i) const {
    if (i >= 0 && i < n_) return row(x, y)[i];
    if (one_.ends == Kind::zeros) return 0;
    const auto below = reach_[0][2] * one_.components, above = reach_[1][2] * one_.components;
    if (one_.ends == Kind::given) {
      const auto of_row = (x + reach_[0][0]) * (one_.shape[1] + reach_[0][1] + reach_[1][1]) + y + reach_[0][1];
      return ends_[static_cast<std::size_t>(of_row * (below + above) + (i < 0 ? below + i : below + i - n_))];
    }
    if (one_.phase_angle == 0) {
      while (i < 0) i += n_;
      return row(x, y)[i % n_];
    }
    const auto& phase = phases_[i < 0 ? 0 : 1];
    const auto part = (i % 2 + 2) % 2;
    std::int64_t first = i - part, turns = 0;
    for (; first < 0; first += n_) ++turns;
    for (; first >= n_; first -= n_) ++turns;
    Real re = row(x, y)[first], im = row(x, y)[first + 1];
    for (; turns > 0; --turns)
      std::tie(re, im) = std::tuple(product(re, phase.real()) - product(im, phase.imag()),
                                    product(re, phase.imag()) + product(im, phase.real()));
    return part == 0 ? re : im;
  }
  /// Rounds by itself, whatever the compiler makes of sums of products.
  static Real product(Real a, Real b) {
    const volatile Real rounded = a * b;
    return rounded;
  }

  const Stencil& stencil_;
  Case one_;
  std::int64_t n_;
  std::array<Index3, 2> reach_;
  std::vector<Real> memory_, ends_;
  std::array<std::complex<Real>, 2> phases_;
};

template <class Real>
void check(const Stencil& stencil, const Case& one) {
  SCOPED_TRACE(testing::Message() << one.shape[0] << " × " << one.shape[1] << " × " << one.shape[2] << ", "
                                  << one.components << " numbers, ends " << static_cast<int>(one.ends) << ", offsets "
                                  << one.from_offset << " and " << one.to_offset << (one.streams ? ", streams" : "")
                                  << (one.has_addend ? ", addend" : "") << ", " << stencil.offsets.size() << " terms");
  const Field<Real> field(stencil, one);
  const RowStencil<Real> kernel(stencil, one.components);
  Addend<Real> addend{one.has_addend ? field.values() : nullptr, Real{0.3F}};
  const auto expected = field.expected(kernel, addend);
  constexpr std::size_t margin = 64;
  const Real untouched = 77;
  std::vector<Real> memory(one.to_offset + field.size() + 2 * margin, untouched);
  Real* to = memory.data() + margin + one.to_offset;
  if (one.replaces_addend) {
    std::copy_n(field.values(), field.size(), to);
    addend.values = to;
  }
  // In two parts, as two threads would.
  apply_stencil(kernel, field.rows(), to, 0, one.shape[0] / 2, addend, one.streams);
  apply_stencil(kernel, field.rows(), to, one.shape[0] / 2, one.shape[0], addend, one.streams);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to));
  for (const Real* p = memory.data(); p < to; ++p) ASSERT_EQ(*p, untouched);
  for (const Real* p = to + field.size(); p < memory.data() + memory.size(); ++p) ASSERT_EQ(*p, untouched);
}

/// Draws cases, of which each is checked with every instruction set.
template <class Real>
void check_many(const Stencil& stencil, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  const auto reach = stencil.reach();
  for (int i = 0; i < 25; ++i) {
    Case one;
    for (std::size_t d = 0; d < 2; ++d) one.shape[d] = draw(std::max({std::int64_t{1}, reach[0][d], reach[1][d]}), 9);
    one.shape[2] = draw(1, 70);
    one.components = draw(1, 2);
    one.ends = static_cast<Kind>(draw(0, 2));
    if (one.components == 2 && one.ends == Kind::wrap && draw(0, 1) == 1) one.phase_angle = 0.7;
    one.from_offset = static_cast<std::size_t>(draw(0, 9));
    one.to_offset = static_cast<std::size_t>(draw(0, 9));
    one.streams = draw(0, 1) == 1;
    one.has_addend = draw(0, 2) == 0;
    one.replaces_addend = one.has_addend && draw(0, 1) == 1;
    test::for_instruction_sets([&] { check<Real>(stencil, one); });
  }
}

TEST(Kernel, StarsAreSumsInOrder) {
  for (int order = 2; order <= most_order; order += 2) {
    const auto stencil = laplacian(order, {Vec3{0.3, 0, 0}, Vec3{0, 0.25, 0}, Vec3{0, 0, 0.21}});
    EXPECT_EQ(RowStencil<double>(stencil, 1).star_radius, order / 2);
    check_many<double>(stencil, static_cast<unsigned>(order));
    check_many<float>(stencil, static_cast<unsigned>(order) + 1);
  }
}

TEST(Kernel, OtherStencilsAreSumsInOrder) {
  const auto oblique = laplacian(2, {Vec3{0.3, 0, 0}, Vec3{0.1, 0.25, 0}, Vec3{0, 0.05, 0.21}});
  const auto slope = gradient(4, 2, {Vec3{0.3, 0, 0}, Vec3{0, 0.25, 0}, Vec3{0, 0, 0.21}});
  for (const auto& stencil : {oblique, slope}) {
    EXPECT_EQ(RowStencil<double>(stencil, 1).star_radius, 0);
    check_many<double>(stencil, 5);
    check_many<float>(stencil, 6);
  }
}

TEST(Kernel, StarsAreKnownInAnyOrder) {
  auto stencil = laplacian(4, {Vec3{0.3, 0, 0}, Vec3{0, 0.25, 0}, Vec3{0, 0, 0.21}});
  const RowStencil<double> sorted(stencil, 1);
  std::reverse(stencil.offsets.begin(), stencil.offsets.end());
  std::reverse(stencil.coefficients.begin(), stencil.coefficients.end());
  const RowStencil<double> reversed(stencil, 1);
  EXPECT_EQ(reversed.star_radius, 2);
  EXPECT_EQ(reversed.coefficients, sorted.coefficients);
  stencil.coefficients.front() *= 2;  // no longer alike on both sides
  EXPECT_EQ(RowStencil<double>(stencil, 1).star_radius, 0);
}

}  // namespace
}  // namespace tessera::grid
