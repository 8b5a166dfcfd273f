"""scripts/check_kernels finds what kernels for devices may not have, in what NVIDIA's tools print of them."""

import pytest

from tests.build.test_ci import script

check_kernels = script("scripts/check_kernels")

GOOD = """
.visible .entry good(
    .param .align 64 .b8 good_param_0[64]
)
{
    ld.global.f32 %f1, [%rd1];
    fma.rn.f32 %f3, %f1, %f2, %f1;
    div.rn.f32 %f4, %f3, %f1;
    sqrt.rn.f32 %f5, %f4;
    rcp.approx.ftz.f32 %f5, %f4;
    rsqrt.approx.ftz.f32 %f5, %f4;
    max.f32 %f6, %f5, %f1;
    setp.lt.f32 %p1, %f6, 0f00000000;
    @%p1 selp.f32 %f7, %f6, %f1, %p1;
    cvt.rni.s32.f32 %r1, %f7;
    cvt.f64.f32 %fd1, %f7;
    mul.rn.f64 %fd2, %fd1, %fd1;
    mul.lo.s32 %r2, %r1, %r1;
    red.global.add.u32 [%rd1], %r2;
}
"""


def test_exact_operations_and_sums_of_integers_pass() -> None:
    assert check_kernels.faults_of_ptx(GOOD) == {"good": []}
    assert check_kernels.doubles_of_ptx(GOOD) == {"good": 2}


@pytest.mark.parametrize(
    "operation",
    [
        "add.f32 %f3, %f1, %f2;",  # ptxas may contract it
        "fma.rn.ftz.f32 %f3, %f1, %f2, %f1;",
        "rsqrt.approx.f32 %f3, %f1;",
        "rsqrt.approx.ftz.f64 %fd3, %fd1;",
        "ex2.approx.ftz.f32 %f3, %f1;",
        "div.full.f32 %f3, %f1, %f2;",
        "mul.rz.f64 %fd3, %fd1, %fd2;",
        "atom.global.add.f32 %f3, [%rd1], %f1;",
        "red.global.add.f64 [%rd1], %fd1;",
        "cvt.rz.f32.f64 %f3, %fd1;",
        "@!%p2 add.f64 %fd3, %fd1, %fd2;",
    ],
)
def test_an_operation_that_costs_bits_is_found(operation: str) -> None:
    found = check_kernels.faults_of_ptx(GOOD.replace("    max.f32", f"    {operation}\n    max.f32"))
    assert len(found["good"]) == 1


def test_registers_in_memory_are_found() -> None:
    text = """
Fatbin elf code:
arch = sm_90
 Function good:
  REG:48 STACK:0 SHARED:1896 LOCAL:0 CONSTANT[0]:1936 TEXTURE:0
Fatbin elf code:
arch = sm_100
 Function good:
  REG:56 STACK:8 SHARED:1896 LOCAL:16 CONSTANT[0]:1936 TEXTURE:0
"""
    found = check_kernels.resources(text)
    assert found == {"good": {"sm_90": (48, 0), "sm_100": (56, 24)}}
    assert check_kernels.spills("good", found["good"]) == ["sm_100 keeps 24 bytes in memory"]
    assert check_kernels.spills("good_any", found["good"]) == []
