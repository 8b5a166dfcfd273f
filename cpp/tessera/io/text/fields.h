// Fortran's edit descriptors f20.10, g20.10, f12.6 and i10, with which DL_POLY writes its text files (DL_POLY_4 manual,
// "The INPUT files"). Values are rounded to nearest, exact ties to even, as gfortran and printf do.
//
// A double below 10¹⁰ is m·2⁻ˢ with an integer m below 2⁵³, so m·10ᵈ with d ≤ 10 is exact in 128 bits, and a shift by s
// gives the digits with the remainder that decides how they are rounded. Nothing is approximated.
#pragma once

#include <cstdint>

namespace tessera::io::text {

inline constexpr int real_width = 20;
inline constexpr int integer_width = 10;

/// Writes f20.10: 20 characters, ten of them decimals, right-aligned. A number that doesn't fit is 20 asterisks; what
/// is not finite is NaN, Infinity or -Infinity.
void write_f20_10(double value, char* out);

/// Writes g20.10: 20 characters with ten significant digits. From 0.1 to 10¹⁰ (after rounding) these are a decimal
/// number of 16 characters and four blanks, zero too; others are 0.1234567890E-05, right-aligned.
void write_g20_10(double value, char* out);

/// Writes f12.6: 12 characters, six of them decimals, right-aligned; 12 asterisks where the number doesn't fit.
void write_f12_6(double value, char* out);

/// Writes i10: 10 characters, right-aligned; 10 asterisks where the number doesn't fit.
void write_i10(std::int64_t value, char* out);

}  // namespace tessera::io::text
