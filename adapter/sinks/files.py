"""A folder of messages: one folder in it for each delivery, named for the version of the table that it ends with.

A delivery is written aside and then renamed, its record with it: where renaming a folder is one step (a local disk,
HDFS, ADLS), readers see all of a delivery or nothing of it, and a process that dies has delivered all or nothing.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import Any

from ..commit.classic import java_class
from ..errors import ConflictError
from ..names import MESSAGE_VERSION
from .declaration import Sink
from .delivery import Messages
from .record import Delivery

RECORD = "_delivery.json"
"""In the folder of each delivery. Spark passes over what begins with an underscore."""

ASIDE = "_aside_"
"""Begins the name of a folder that is being written, or that a process left behind which died."""

DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class FileSink:
    """session: a Spark session in this process."""

    session: Any
    sink: Sink

    def last(self) -> Delivery | None:
        files = self._files()
        if not files.exists(self._path()):
            return None
        names = [str(s.getPath().getName()) for s in files.listStatus(self._path())]
        versions = [int(n.partition("=")[2]) for n in names if n.startswith(f"{MESSAGE_VERSION}=")]
        return Delivery.read(self._read(f"{MESSAGE_VERSION}={max(versions)}/{RECORD}")) if versions else None

    def begun(self) -> Delivery | None:
        return None

    def write(self, messages: Messages, delivery: Delivery) -> None:
        aside, final = f"{ASIDE}{uuid.uuid4().hex}", f"{MESSAGE_VERSION}={delivery.version}"
        rows = self.session.sql(messages.ordered).drop(MESSAGE_VERSION)
        rows.write.format(self.sink.format).options(**self.sink.options).save(f"{self.sink.place}/{aside}")
        out = self._files().create(self._path(f"{aside}/{RECORD}"))
        out.write(bytearray(delivery.text.encode()))
        out.close()
        # Not FileSystem.rename, which moves a folder into one that is there already.
        root = self._files().makeQualified(self._path()).toUri()
        context = self._java("org.apache.hadoop.fs.FileContext").getFileContext(root, self._conf())
        nothing_more = self.session.sparkContext._gateway.new_array(
            self._java("org.apache.hadoop.fs.Options$Rename"), 0
        )
        try:
            context.rename(self._path(aside), self._path(final), nothing_more)
        except Exception as error:
            if "FileAlreadyExists" not in str(error):
                raise
            self._files().delete(self._path(aside), True)
            raise ConflictError(
                f"another run delivered to {self.sink.place} at the same time, and this one delivered nothing.",
                where=self.sink.where,
                remedy="run again: it goes on from what the other run delivered",
            ) from error
        self._clear()

    def _clear(self) -> None:
        """What processes that died have left behind. What is a day old, nobody is writing any more."""
        old = time.time() * 1000 - DAY_MS
        for status in self._files().listStatus(self._path()):
            if str(status.getPath().getName()).startswith(ASIDE) and status.getModificationTime() < old:
                self._files().delete(status.getPath(), True)

    def _read(self, name: str) -> str:
        stream = self._files().open(self._path(name))
        try:
            return str(self._java("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _path(self, name: str = "") -> Any:
        place = f"{self.sink.place}/{name}" if name else self.sink.place
        return self._java("org.apache.hadoop.fs.Path")(place)

    def _files(self) -> Any:
        return self._path().getFileSystem(self._conf())

    def _conf(self) -> Any:
        return self.session._jsparkSession.sessionState().newHadoopConf()

    def _java(self, name: str) -> Any:
        return java_class(self.session.sparkContext._gateway, name)
