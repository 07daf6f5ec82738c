"""Grants: dbt's own where the catalog keeps permissions, and where it does not refused before anything is written.

Spark itself has none: GRANT and SHOW GRANTS do not even parse. Platforms bring them.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt_common.exceptions import DbtRuntimeError

UNKNOWN_STATEMENT = ("PARSE_SYNTAX_ERROR", "INVALID_STATEMENT_OR_CLAUSE", "ParseException")


class Grants(metaclass=AdapterMeta):
    """Mixed into the adapter."""

    _keeps_permissions: bool | None = None

    @available
    def has_grants(self) -> bool:
        """Whether this Spark knows the statement by which grants are shown; asked once for all models."""
        if self._keeps_permissions is None:
            try:
                self.execute(f"SHOW GRANTS ON SCHEMA {self.config.credentials.schema}")  # type: ignore[attr-defined]
                self._keeps_permissions = True
            except DbtRuntimeError as error:
                # Any other failure, a missing permission for one, comes from a Spark that knows what was asked.
                self._keeps_permissions = not any(sign in str(error) for sign in UNKNOWN_STATEMENT)
        return self._keeps_permissions

    def refuse_grants(self, node: Any) -> None:
        """Raises DbtRuntimeError if the node grants something to somebody and there are no grants."""
        granted = {p: who for p, who in (node.config.get("grants") or {}).items() if who}
        if granted and not self.has_grants():
            listed = "; ".join(f"{privilege} to {who}" for privilege, who in granted.items())
            raise DbtRuntimeError(
                f"{node.name} is configured with grants ({listed}), and this Spark has none.\n"
                f"  where:  {node.original_file_path}\n"
                "  why:    GRANT is not a statement of Spark's SQL; nothing was written\n"
                "  remedy: leave `grants` out, or give them only to targets that have them, and set permissions where "
                "the tables are kept"
            )
