"""The package, the embedded Spark's settings and the plugin's own parts, without a Java process."""
