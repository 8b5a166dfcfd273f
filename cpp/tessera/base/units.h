// Units: Å, ps, amu, kcal/mol, elementary charge, K, bar. Everything inside uses them; conversions happen at the edges.
#pragma once

namespace tessera::units {

inline constexpr double boltzmann = 0.0019872042586408316;  // kcal/mol/K (CODATA 2018)
inline constexpr double acceleration = 418.4;               // (kcal/mol/Å)/amu in Å/ps²
inline constexpr double kilojoule = 1.0 / 4.184;            // kJ/mol in kcal/mol
inline constexpr double bar = 69476.95457055373;            // kcal/mol/Å³ in bar (4184e30 / N_A / 1e5)
inline constexpr double density = 1.66053906660;            // amu/Å³ in g/cm³
inline constexpr double femtosecond = 1e-3;                 // ps
inline constexpr double nanometre = 10.0;                   // Å
inline constexpr double pi = 3.14159265358979323846;

}  // namespace tessera::units
