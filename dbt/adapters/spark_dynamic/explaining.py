"""The adapter's verb behind `dbt run-operation explain` and `dbt-dynamic explain`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic.constraints import constraints_of, contracted
from dbt.adapters.spark_dynamic.dynamic_table import spec_of
from dbt_spark_dynamic.errors import DynamicTableError
from dbt_spark_dynamic.explain.explanation import Explanation, explain
from dbt_spark_dynamic.explain.text import text
from dbt_spark_dynamic.versions.refresh import maintained

logger = AdapterLogger("Spark Dynamic")

EXPLAINED = ("dynamic_table", "versioned_table", "temporal_join", "table", "view", "incremental", "ephemeral")
"""Materializations whose SELECT says what the table holds, so that it can be explained as a dynamic table."""


class Explaining(metaclass=AdapterMeta):
    """Mixed into the adapter, beside DynamicTables."""

    @available
    def explain_model(self, name: str) -> str:
        """What a refresh of the model would do, as text. Raises DbtRuntimeError."""
        return text(self.explanation(name))

    def explanation(self, name: str) -> Explanation:
        """Compiles the model and looks at its table and sources; needs a connection. Raises DbtRuntimeError.

        name: of a model, or package.model. A model of another materialization is explained as a dynamic table."""
        node = self._compiled(name)
        if node.config.materialized not in EXPLAINED:
            raise DbtRuntimeError(
                f"{name} is materialized as {node.config.materialized}: what can be explained is a SELECT whose rows "
                f"are the table's ({', '.join(EXPLAINED)})"
            )
        relation = self.Relation.create_from(self.config, node)  # type: ignore[attr-defined]
        model = node.to_dict()
        constraints = constraints_of(model, type(self))  # type: ignore[arg-type]
        engine = self._engine(lambda statement: logger.debug(f"On {relation}: {statement}"))  # type: ignore[attr-defined]
        try:
            sql = contracted(node.compiled_code, model)
            graph = self._graph()
            spec = spec_of(relation.render(), sql, model, "", False, graph, constraints)
            spec = self.placed(spec, node.unique_id, graph)  # type: ignore[attr-defined]
            if node.config.materialized == "versioned_table":
                spec = maintained(spec, model["config"], engine)
            return explain(spec, engine)
        except DynamicTableError as error:
            raise DbtRuntimeError(str(error)) from error

    def _graph(self) -> dict[str, Any]:
        """The project as Jinja's `graph` has it."""
        manifest: Any = self.get_macro_resolver()  # type: ignore[attr-defined]
        kinds = {"nodes": manifest.nodes, "sources": manifest.sources}
        return {kind: {u: node.to_dict() for u, node in of.items()} for kind, of in kinds.items()}

    def _compiled(self, name: str) -> Any:
        """The model's node with its SQL compiled, as `dbt compile` has it."""
        # dbt-core imports the adapter: only once a command runs is it there to be imported.
        from dbt.compilation import Compiler

        manifest: Any = self.get_macro_resolver()  # type: ignore[attr-defined]
        return Compiler(self.config).compile_node(model_named(manifest, name), manifest, write=False)  # type: ignore[attr-defined]


def model_named(manifest: Any, name: str) -> Any:
    """The SQL model of that name. Raises DbtRuntimeError where there is none, or more than one."""
    models = [n for n in manifest.nodes.values() if n.resource_type == "model" and n.language == "sql"]
    found = [n for n in models if name in (n.name, f"{n.package_name}.{n.name}", n.unique_id)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{n.package_name}.{n.name}" for n in found)
        raise DbtRuntimeError(f"more than one model is named {name}: say which of {listed}")
    near = get_close_matches(name, [n.name for n in models], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`dbt ls --resource-type model` lists them"
    raise DbtRuntimeError(f"there is no SQL model named {name} in this project: {hint}")
