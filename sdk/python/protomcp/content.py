"""Content blocks: what a result or a prompt's message consists of."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

from .jsontext import base64
from .record import Record


Members = Optional[Dict[str, Any]]


class Content(Record):
    """One block. ``annotations`` (``audience``, ``priority``, ``lastModified``) and ``meta`` are as
    the Model Context Protocol has them."""

    def __init__(self, annotations: Members = None, meta: Members = None) -> None:
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> Dict[str, Any]:
        """The block as the protocol spells it."""
        block = self._spelled()
        if self.annotations is not None:
            block["annotations"] = self.annotations
        if self.meta is not None:
            block["_meta"] = self.meta
        return block

    def _spelled(self) -> Dict[str, Any]:
        raise NotImplementedError


class Text(Content):
    """A text."""

    def __init__(self, text: str, annotations: Members = None, meta: Members = None) -> None:
        super().__init__(annotations, meta)
        self.text = text

    def _spelled(self) -> Dict[str, Any]:
        return {"type": "text", "text": self.text}


class _Media(Content):
    _type = ""
    _mime_type = ""

    def __init__(
        self,
        data: Union[bytes, str],
        mime_type: str = "",
        annotations: Members = None,
        meta: Members = None,
    ) -> None:
        super().__init__(annotations, meta)
        self.data = data
        self.mime_type = mime_type or self._mime_type

    def _spelled(self) -> Dict[str, Any]:
        data = self.data if isinstance(self.data, str) else base64(self.data)
        return {"type": self._type, "data": data, "mimeType": self.mime_type}


class Image(_Media):
    """A picture: its bytes, or their base64 text; a PNG unless ``mime_type`` says otherwise."""

    _type = "image"
    _mime_type = "image/png"


class Audio(_Media):
    """A sound: its bytes, or their base64 text; a WAV unless ``mime_type`` says otherwise."""

    _type = "audio"
    _mime_type = "audio/wav"


class ResourceLink(Content):
    """Points to a resource that the host may read."""

    def __init__(
        self,
        uri: str,
        name: str,
        title: str = "",
        description: str = "",
        mime_type: str = "",
        size: Optional[int] = None,
        annotations: Members = None,
        meta: Members = None,
    ) -> None:
        super().__init__(annotations, meta)
        self.uri = uri
        self.name = name
        self.title = title
        self.description = description
        self.mime_type = mime_type
        self.size = size

    def _spelled(self) -> Dict[str, Any]:
        block: Dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        more = {"title": self.title, "description": self.description, "mimeType": self.mime_type}
        block.update((key, value) for key, value in more.items() if value)
        if self.size is not None:
            block["size"] = self.size
        return block


class EmbeddedResource(Content):
    """A resource's content in place: a ``text``, or bytes as ``blob``."""

    def __init__(
        self,
        uri: str,
        text: str = "",
        blob: Optional[bytes] = None,
        mime_type: str = "",
        annotations: Members = None,
        meta: Members = None,
    ) -> None:
        super().__init__(annotations, meta)
        self.uri = uri
        self.text = text
        self.blob = blob
        self.mime_type = mime_type

    def _spelled(self) -> Dict[str, Any]:
        resource: Dict[str, Any] = {"uri": self.uri}
        if self.mime_type:
            resource["mimeType"] = self.mime_type
        if self.blob is not None:
            resource["blob"] = base64(self.blob)
        else:
            resource["text"] = self.text
        return {"type": "resource", "resource": resource}


def blocks(value: Any) -> Optional[List[Dict[str, Any]]]:
    """The blocks of a value that is content: a block, or a list with at least one among its items,
    whose texts are blocks too. ``None`` for other values."""
    if isinstance(value, Content):
        return [value.to_json()]
    if isinstance(value, (list, tuple)) and any(isinstance(item, Content) for item in value):
        return [block(item) for item in value]
    return None


def block(value: Any) -> Dict[str, Any]:
    """One block of a value: content, a block spelled out as a dict, or a text."""
    if isinstance(value, Content):
        return value.to_json()
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return value
    return {"type": "text", "text": value if isinstance(value, str) else str(value)}
