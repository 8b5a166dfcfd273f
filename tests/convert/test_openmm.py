"""Converts what OpenMM's XmlSerializer writes: units, OpenMM's Ewald parameters, baths, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tessera.convert import Conversion, convert
from tessera.errors import InputError
from tests.convert.converted import changes, settings, status

INTEGRATOR = """<?xml version="1.0" ?>
<Integrator constraintTolerance="1e-06" friction="2" integrationForceGroups="-1" randomSeed="7" stepSize=".002"
 temperature="310" type="LangevinMiddleIntegrator" version="1"/>
"""
SYSTEM = """<?xml version="1.0" ?>
<System openmmVersion="8.1" type="System" version="1">
	<PeriodicBoxVectors>
		<A x="4" y="0" z="0"/>
		<B x="0" y="4" z="0"/>
		<C x="0" y="0" z="4"/>
	</PeriodicBoxVectors>
	<Particles>
		<Particle mass="16"/>
		<Particle mass="1"/>
	</Particles>
	<Constraints>
		<Constraint d=".1" p1="0" p2="1"/>
	</Constraints>
	<Forces>
		<Force forceGroup="0" name="HarmonicBondForce" type="HarmonicBondForce" usesPeriodic="0" version="2">
			<Bonds/>
		</Force>
		<Force alpha="0" cutoff="1" dispersionCorrection="1" ewaldTolerance=".0005" exceptionsUsePeriodic="0"
 forceGroup="0" includeDirectSpace="1" ljAlpha="0" ljnx="0" ljny="0" ljnz="0" method="4" name="NonbondedForce" nx="0"
 ny="0" nz="0" recipForceGroup="-1" rfDielectric="78.3" switchingDistance=".9" type="NonbondedForce"
 useSwitchingFunction="1" version="4">
			<Particles>
				<Particle eps="0" q="0" sig="1"/>
			</Particles>
		</Force>
		<Force forceGroup="0" frequency="50" name="CMMotionRemover" type="CMMotionRemover" version="1"/>
		<Force forceGroup="0" frequency="30" name="MonteCarloBarostat" pressure="2" randomSeed="0" rigidScaling="1"
 temperature="310" type="MonteCarloBarostat" version="1"/>
	</Forces>
</System>
"""
STATE = """<?xml version="1.0" ?>
<State openmmVersion="8.1" stepCount="5" time="3" type="State" version="1">
	<PeriodicBoxVectors>
		<A x="4" y="0" z="0"/>
		<B x="0" y="4" z="0"/>
		<C x="0" y="0" z="4"/>
	</PeriodicBoxVectors>
	<Parameters/>
	<Energies KineticEnergy="0" PotentialEnergy="0"/>
	<Positions>
		<Position x="0" y="0" z="0"/>
		<Position x="0" y="0" z="0.1"/>
	</Positions>
	<Velocities>
		<Velocity x="0" y="0" z="0"/>
		<Velocity x="0" y="0" z="0"/>
	</Velocities>
</State>
"""


def conversion(
    folder: Path, system: str = SYSTEM, integrator: str = INTEGRATOR, state: str = STATE, **options: Any
) -> Conversion:
    """Returns what becomes of the three files."""
    for name, text in {"system.xml": system, "integrator.xml": integrator, "state.xml": state}.items():
        if text:
            (folder / name).write_text(text)
    return convert([folder], **options)


def test_units_and_origins(tmp_path: Path) -> None:
    found = conversion(tmp_path)
    keys = settings(found)
    alpha = math.sqrt(-math.log(2 * 5e-4)) / 10
    expected = {
        "interactions.cutoff": 10.0, "interactions.lj": "quintic-switch", "interactions.switch": 9.0,
        "interactions.lj_tail": True, "pme.alpha": round(alpha, 9), "pme.order": 6, "dynamics.timestep": 2.0,
        "pme.spacing": round(3 * 5e-4**0.2 / (2 * alpha), 6), "dynamics.constraints": "h-bonds",
        "dynamics.constraint_tolerance": 1e-6, "dynamics.thermostat": "langevin", "dynamics.tau_t": 0.5,
        "dynamics.temperature": 310.0, "dynamics.seed": 7, "dynamics.barostat": "monte-carlo",
        "dynamics.monte_carlo_every": 30, "dynamics.pressure": 2.0, "dynamics.ensemble": "npt",
        "dynamics.com_removal_every": 50, "dynamics.velocities": "file", "dynamics.coupling": "isotropic",
    }  # fmt: skip
    assert {name: keys[name] for name in expected} == expected
    assert found.program == "openmm" and found.prepare[3:7] == ["--system", "system.xml", "--coords", "state.xml"]
    assert "tau_t = 0.5  # integrator.xml:2 Integrator.friction = 2" in found.text
    assert (
        status(found, "NonbondedForce.rfDielectric") == "ignored"
        and status(found, "HarmonicBondForce.type") == "ignored"
    )


#: what is replaced in the System or the Integrator, by what, and the keys that differ; a word of what refuses it
CHANGES: list[tuple[str, str, Any]] = [
    ('stepSize=".002"', 'stepSize=".004"', {"dynamics.timestep": 4.0}),
    ('friction="2"', 'friction="4"', {"dynamics.tau_t": 0.25}),
    ('randomSeed="7"', 'randomSeed="0"', {"dynamics.seed": None}),
    ("LangevinMiddleIntegrator", "LangevinIntegrator", {}),
    ("LangevinMiddleIntegrator", "BrownianIntegrator", "known here"),
    ('integrationForceGroups="-1"', 'integrationForceGroups="1"', "some forces alone"),
    ('cutoff="1"', 'cutoff="1.2"', {"interactions.cutoff": 12.0}),
    ('useSwitchingFunction="1"', 'useSwitchingFunction="0"', {"interactions.lj": "cut", "interactions.switch": None}),
    ('dispersionCorrection="1"', 'dispersionCorrection="0"', {"interactions.lj_tail": False}),
    ('method="4"', 'method="3"', {}),
    ('method="4"', 'method="5"', {"interactions.lj": "pme", "interactions.switch": None, "interactions.lj_tail": None}),
    ('method="4"', 'method="2"', "reaction field"),
    ('method="4"', 'method="0"', {"interactions.cutoff": "auto", "interactions.electrostatics": "cut"}),
    ('alpha="0" cutoff', 'alpha="3" cutoff', "expected"),
    ('pressure="2"', 'pressure="5"', {"dynamics.pressure": 5.0}),
    ('frequency="30"', 'frequency="0"', {"dynamics.ensemble": "nvt"}),
    ('310" type="MonteCarloBarostat"', '300" type="MonteCarloBarostat"', "another temperature"),
    ('type="MonteCarloBarostat"', 'type="MonteCarloFlexibleBarostat"', "no counterpart"),
    ('type="HarmonicBondForce"', 'type="CustomExternalForce"', "holds atoms"),
    ('type="HarmonicBondForce"', 'type="GBSAOBCForce"', "no counterpart"),
    ('type="CMMotionRemover"', 'type="AndersenThermostat"', "Andersen"),
    ('includeDirectSpace="1"', 'includeDirectSpace="0"', "always computed"),
    ('rigidScaling="1"', 'novelty="1"', "not known"),
    ('<Constraint d=".1" p1="0" p2="1"/>', "", {"dynamics.constraints": "none", "dynamics.constraint_tolerance": None}),
]  # fmt: skip


def changed(old: str, new: str) -> tuple[str, str]:
    """Returns System and Integrator with another text in the one that has it."""
    assert (old in SYSTEM) + (old in INTEGRATOR) == 1, old
    return SYSTEM.replace(old, new), INTEGRATOR.replace(old, new)


@pytest.mark.parametrize(("old", "new", "effect"), CHANGES)
def test_known_changes(tmp_path: Path, old: str, new: str, effect: Any) -> None:
    before = settings(conversion(tmp_path))
    try:
        found = conversion(tmp_path, *changed(old, new))
    except InputError as error:
        assert isinstance(effect, str) and effect in str(error)
        return
    if isinstance(effect, str):
        assert any(effect in row.note for row in found.refused), found.refused
        lenient = conversion(tmp_path, *changed(old, new), lenient=True)
        assert lenient.refused
    else:
        differ = changes(before, settings(found))
        keys = {name: value for name, value in effect.items() if name in differ}
        assert keys == effect and {name: differ[name] for name in effect} == effect
        assert effect or not differ


def test_chains_of_nose_and_hoover(tmp_path: Path) -> None:
    chain = (
        '<Integrator chainLength="5" collisionFrequency="4" constraintTolerance="1e-05" hasSubsystemThermostats="0" '
        'integrationForceGroups="-1" maximumPairDistance="0" numMTS="3" numYS="7" stepSize=".001" temperature="310" '
        'type="NoseHooverIntegrator" version="1"/>'
    )
    keys = settings(conversion(tmp_path, integrator=chain))
    assert keys["dynamics.tau_t"] == 0.25 and keys["dynamics.chain"] == 3


@pytest.mark.parametrize(
    ("kind", "more", "effect"),
    [
        ("Anisotropic", 'pressurex="1" pressurey="1" pressurez="1" scalex="1" scaley="1" scalez="1"', "anisotropic"),
        ("Anisotropic", 'pressurex="9" pressurey="9" pressurez="1" scalex="0" scaley="0" scalez="1"', "constant-area"),
        ("Anisotropic", 'pressurex="1" pressurey="1" pressurez="1" scalex="1" scaley="0" scalez="1"', "refused"),
        ("Anisotropic", 'pressurex="1" pressurey="2" pressurez="1" scalex="1" scaley="1" scalez="1"', "refused"),
        ("Membrane", 'pressure="1" surfaceTension="20" xymode="0" zmode="0"', "semi-isotropic"),
        ("Membrane", 'pressure="1" surfaceTension="20" xymode="1" zmode="0"', "refused"),
    ],
)
def test_barostats(tmp_path: Path, kind: str, more: str, effect: str) -> None:
    system = SYSTEM.replace('pressure="2"', more).replace("MonteCarloBarostat", f"MonteCarlo{kind}Barostat")
    found = conversion(tmp_path, system)
    if effect == "refused":
        assert found.refused
        return
    keys = settings(found)
    assert keys["dynamics.coupling"] == effect and keys["dynamics.pressure"] == 1.0
    assert keys.get("dynamics.surface_tension") == (20.0 if kind == "Membrane" else None)


def test_an_attribute_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Integrator\.stepSize is not given"):
        conversion(tmp_path, *changed('stepSize=".002"', ""))


def test_what_is_no_such_file(tmp_path: Path) -> None:
    for text, says in {
        "<System type='System'": "no XML",
        "<ForceField><AtomTypes/></ForceField>": "expected a System, an Integrator or a State",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><System type='System'/>": "found a DOCTYPE",
    }.items():
        with pytest.raises(InputError, match=says):
            conversion(tmp_path, text)
    with pytest.raises(InputError, match="give Integrator too"):
        (tmp_path / "alone").mkdir()
        conversion(tmp_path / "alone", integrator="", state="")
    (tmp_path / "second.xml").write_text(INTEGRATOR)
    with pytest.raises(InputError, match="one of each"):
        conversion(tmp_path)


def test_velocities_without_a_state_are_those_of_a_context(tmp_path: Path) -> None:
    found = conversion(tmp_path, state="")
    assert settings(found)["dynamics.velocities"] == "zero" and any("setVelocities" in note for note in found.notes)


def test_what_openmm_writes(tmp_path: Path) -> None:
    """Everything that this version writes of integrators and forces is known or refused with a reason."""
    openmm = pytest.importorskip("openmm")
    system = openmm.System()
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(force.PME)
    for _ in range(2):
        system.addParticle(1)
        force.addParticle(0, 1, 0)
    for one in (force, openmm.MonteCarloBarostat(1, 300), openmm.HarmonicAngleForce(), openmm.CMMotionRemover(1)):
        system.addForce(one)
    for integrator in (openmm.LangevinMiddleIntegrator(300, 1, 0.002), openmm.NoseHooverIntegrator(300, 1, 0.002)):
        texts = [openmm.XmlSerializer.serialize(one) for one in (system, integrator)]
        found = conversion(tmp_path, *texts, state="")
        assert not found.refused
