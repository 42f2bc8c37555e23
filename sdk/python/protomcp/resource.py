"""Resources: data that hosts read by its URI."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Pattern, TypeVar

from .content import Members
from .errors import NotFound, ToolError
from .handler import Handler
from .jsontext import dumps
from .record import Record
from .registry import registry
from .wire import Message

F = TypeVar("F", bound=Callable[..., Any])
Icons = Optional[List[Dict[str, Any]]]


class ResourceContent(Record):
    """What a resource holds, or a part of it: a text, or bytes as ``blob``."""

    def __init__(
        self,
        uri: str = "",
        text: str = "",
        blob: bytes = b"",
        mime_type: str = "",
        meta: Members = None,
    ) -> None:
        #: Without it the one that was asked for.
        self.uri = uri
        self.text = text
        self.blob = blob
        #: Without it the one that was announced.
        self.mime_type = mime_type
        self.meta = meta


class ResourceDef(Record):
    """A resource; or, as :class:`ResourceTemplateDef`, all of a form."""

    _what = "resource"

    def __init__(
        self,
        uri: str,
        name: str,
        description: str,
        handler: Callable[..., Any],
        mime_type: str = "",
        size: int = 0,
        title: str = "",
        annotations: Members = None,
        icons: Icons = None,
        meta: Members = None,
    ) -> None:
        self.uri = uri
        self.name = name or getattr(handler, "__name__", "")
        self.description = description
        self.handler = handler
        self.mime_type = mime_type
        self.size = size
        self.title = title
        self.annotations = annotations
        self.icons = icons
        self.meta = meta
        self._bound = Handler(handler, f'the {self._what} "{uri}"')
        self.description = description or self._bound.summary()

    @property
    def site(self) -> str:
        return self._bound.site

    def read(self, ctx: Any, uri: str, variables: Dict[str, str]) -> Any:
        """Calls the handler. Its parameters are called as the template's variables are, ``ctx``, or
        anything for the URI."""
        bound = self._bound
        given: Dict[str, Any] = {}
        for name in bound.names:
            if name == bound.context_name:
                given[name] = ctx
            elif name in variables:
                given[name] = variables[name]
            elif name == "uri" or name not in bound.defaults:
                given[name] = uri
        return self.handler(**given)

    def to_wire(self) -> Message:
        return {
            "uri": self.uri,
            "size": self.size,
            "name": self.name,
            "description": self.description,
            "mime_type": self.mime_type,
            "title": self.title,
            "annotations_json": dumps(self.annotations) if self.annotations else "",
            "icons_json": dumps(self.icons) if self.icons else "",
            "meta_json": dumps(self.meta) if self.meta else "",
        }


class ResourceTemplateDef(ResourceDef):
    _what = "resource template"

    def __init__(self, uri_template: str, *args: Any, **more: Any) -> None:
        super().__init__(uri_template, *args, **more)
        self.uri_template = uri_template
        self._pattern = _compiled(self._bound, uri_template)

    def matches(self, uri: str) -> Optional[Dict[str, str]]:
        """The variables, if this URI is one of the template's."""
        from urllib.parse import unquote

        found = self._pattern.regex.fullmatch(uri)
        if found is None:
            return None
        return dict(zip(self._pattern.names, [unquote(value) for value in found.groups()]))

    def to_wire(self) -> Message:
        wire = super().to_wire()
        del wire["size"]
        return {"uri_template": wire.pop("uri"), **wire}


class _Pattern(NamedTuple):
    regex: Pattern[str]
    names: List[str]


def _compiled(handler: Handler, template: str) -> _Pattern:
    """``{name}`` is one segment, ``{+name}`` and ``{name*}`` may have slashes in them."""
    import re

    parts = re.split(r"\{([^{}]*)\}", template)
    if re.search(r"[{}]", "".join(parts[::2])):
        raise handler.mistake("a brace of the template is never closed")
    names: List[str] = []
    regex = ""
    for at, part in enumerate(parts):
        if at % 2 == 0:
            regex += re.escape(part)
            continue
        is_long = part[:1] in ("+", "#") or part.endswith("*")
        names.append(part.strip("+#./;?&*").split(":")[0].split(",")[0])
        regex += "(.+)" if is_long else "([^/]+)"
    return _Pattern(re.compile(regex), names)


def resource(
    uri: str,
    description: str = "",
    name: str = "",
    mime_type: str = "",
    *,
    size: int = 0,
    title: str = "",
    annotations: Members = None,
    icons: Icons = None,
    meta: Members = None,
) -> Callable[[F], F]:
    """Decorates ``function(uri)``, which returns a :class:`ResourceContent`, a text, bytes, what can
    be JSON, or a list of them. It may take no parameter, and ``ctx``. To fail it raises: a
    :class:`NotFound` says that there is no such resource."""

    def decorate(function: F) -> F:
        registry.resources.append(
            ResourceDef(uri, name, description, function, mime_type, size, title, annotations, icons, meta)
        )
        registry.changed("resources")
        return function

    return decorate


def resource_template(
    uri_template: str,
    description: str = "",
    name: str = "",
    mime_type: str = "",
    *,
    title: str = "",
    annotations: Members = None,
    icons: Icons = None,
    meta: Members = None,
) -> Callable[[F], F]:
    """As :func:`resource`, for all URIs of a form: ``note://{id}``. Parameters that are called as the
    variables are get their values."""

    def decorate(function: F) -> F:
        registry.templates.append(
            ResourceTemplateDef(
                uri_template, name, description, function, mime_type, 0, title, annotations, icons, meta
            )
        )
        registry.changed("templates")
        return function

    return decorate


class Found(NamedTuple):
    """Who reads a URI."""

    definition: ResourceDef
    variables: Dict[str, str]


def find_resource(uri: str) -> Found:
    """:raises NotFound: nobody does."""
    for definition in registry.resources:
        if definition.uri == uri:
            return Found(definition, {})
    for template in registry.templates:
        variables = template.matches(uri)
        if variables is not None:
            return Found(template, variables)
    raise NotFound(f"there is no resource {uri}")


def contents(value: Any, uri: str, mime_type: str) -> Message:
    """The answer to a request for a URI."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return {"contents": [_content(one, uri, mime_type) for one in values]}


def _content(value: Any, uri: str, mime_type: str) -> Message:
    if isinstance(value, (bytes, bytearray)):
        value = ResourceContent(blob=bytes(value))
    elif isinstance(value, str):
        value = ResourceContent(text=value)
    elif value is None:
        raise ToolError(f"the handler of {uri} returned nothing", "INTERNAL")
    elif not isinstance(value, ResourceContent):
        value = ResourceContent(text=dumps(value), mime_type=mime_type or "application/json")
    content: Message = {"uri": value.uri or uri, "mime_type": value.mime_type or mime_type}
    if value.blob:
        content["blob"] = value.blob
    else:
        content["text"] = value.text
    if value.meta is not None:
        content["meta_json"] = dumps(value.meta)
    return content


def resource_changed(uri: str) -> None:
    """Tells the hosts that subscribed to this resource that its content changed."""
    from .connection import tell

    tell("resource_changed", {"uri": uri})


def get_registered_resources() -> List[ResourceDef]:
    return list(registry.resources)


def get_registered_resource_templates() -> List[ResourceTemplateDef]:
    return list(registry.templates)


def clear_resource_registry() -> None:
    registry.resources.clear()


def clear_template_registry() -> None:
    registry.templates.clear()
