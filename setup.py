"""Metadata of the distribution; tool settings are in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent
VERSION = {}
exec((HERE / "ge_harness" / "version.py").read_text(encoding="utf-8"), VERSION)

OLD = "python_version < '3.8'"
MIDDLE = "python_version >= '3.8' and python_version < '3.10'"
BEFORE_310 = "python_version < '3.10'"
NEW = "python_version >= '3.10'"
X86 = "(platform_machine == 'x86_64' or platform_machine == 'AMD64')"
NOT_X86 = "platform_machine != 'x86_64' and platform_machine != 'AMD64'"

# TensorFlow 1.15.5 and 2.6.5 are the versions that Ascend's adapter is built for;
# protobuf 3.20 and above breaks the former. An unbounded matplotlib or numba makes pip
# search for minutes beside TensorFlow 2.6.5 and fail, hence the bounds.
EXTRAS = {
    "report": [
        "jinja2>=3.0,<4",
        "rich>=10,<13.9; " + OLD,
        "rich>=10,<16; python_version >= '3.8'",
        "matplotlib>=3.3,<3.6; " + OLD,
        "matplotlib>=3.3,<3.7; " + MIDDLE,
        "matplotlib>=3.7,<4; " + NEW,
    ],
    "fast": [
        "numba==0.56.4; " + BEFORE_310,
        "numba>=0.59,<1; " + NEW,
    ],
    "tf": [
        "tensorflow==1.15.5; " + OLD,
        "numpy==1.18.5; " + OLD,
        "protobuf>=3.9,<3.20; " + OLD,
        "tensorflow==2.6.5; " + MIDDLE,
        "tensorflow-cpu==2.21.0; " + NEW + " and " + X86,
        "tensorflow==2.21.0; " + NEW + " and " + NOT_X86,
    ],
    "tensorboard": [
        "tensorboard>=2.10,<3; " + NEW,
    ],
    "test": [
        "pytest>=7.4,<8; " + OLD,
        "pytest>=7.4,<8.5; " + MIDDLE,
        "pytest>=7.4,<10; " + NEW,
        "exceptiongroup<1.3; " + MIDDLE,
        "hypothesis>=6.56,<6.80; " + OLD,
        "hypothesis>=6.56,<7; python_version >= '3.8'",
        "mpmath>=1.2,<1.4; " + OLD,
        "mpmath>=1.2,<2; python_version >= '3.8'",
    ],
}

setup(
    name="ge-harness",
    version=VERSION["VERSION"],
    description="What a graph compiler did to a TensorFlow graph and to its numbers.",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.7",
    packages=find_packages(include=["ge_harness*", "graphs*", "dumps*"]),
    package_data={"ge_harness": ["catalogue/*.tsv", "report/templates/*"],
                  "dumps": ["stages.tsv"]},
    install_requires=["numpy>=1.16", "absl-py>=0.4"],
    extras_require=EXTRAS,
    entry_points={
        "console_scripts": ["ge-harness = ge_harness.cli.main:main"],
        "pytest11": ["ge_harness = ge_harness.pytest_plugin"],
    },
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.7",
        "Programming Language :: Python :: 3.9",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Topic :: Scientific/Engineering",
    ],
)
