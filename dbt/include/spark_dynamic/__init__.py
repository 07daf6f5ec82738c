"""Where dbt finds this adapter's macros: in a wheel below this folder, in a checkout at the top level."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
PACKAGE_PATH = str(
    next(folder for folder in (_HERE / "macros", _HERE.parents[2] / "macros") if (folder / "dbt_project.yml").is_file())
)
