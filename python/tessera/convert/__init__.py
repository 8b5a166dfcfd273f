"""Makes run files of the settings of other programs: one module a program, listed in `programs`."""

from tessera.convert.programs import PROGRAMS, Conversion, convert, detect

__all__ = ["PROGRAMS", "Conversion", "convert", "detect"]
