//! The documents that a schema consists of, the identifiers in them, and what references lead to.
//!
//! A *resource* is a schema with an identifier of its own, together with what is inside of it up to
//! the next resource (JSON Schema Core, section 4.3.5).

use super::document::{At, Document, Kind, View};
use super::keyword::{Dialect, Draft, Holds, Keyword};
use super::{meta, uri};

/// Which document.
pub(super) type Doc = u32;
/// Which resource.
pub(super) type ResourceId = u32;

/// A document of another name, which may be referred to.
pub(super) type Other<'a> = (&'a str, &'a str);

#[derive(Debug)]
pub(super) struct Resource {
    pub(super) doc: Doc,
    /// Its root, and the position behind it.
    pub(super) root: At,
    end: At,
    /// Its identifiers; the first is the base of its references.
    uris: Vec<String>,
    /// `None` if nobody here knows it.
    pub(super) dialect: Option<Dialect>,
    anchors: Vec<Anchor>,
}

#[derive(Debug)]
struct Anchor {
    name: String,
    at: At,
    is_dynamic: bool,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    documents: Vec<Document>,
    pub(super) resources: Vec<Resource>,
}

/// What a reference leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) doc: Doc,
    pub(super) at: At,
    /// It was named by an anchor that is dynamic.
    pub(super) is_dynamic: bool,
}

impl Store {
    pub(super) fn view(&self, doc: Doc) -> View<'_> {
        self.documents.get(doc as usize).map_or(View::new("", &[]), Document::view)
    }

    /// Takes in a document that was found under this identifier (which may be empty), with all
    /// identifiers in it.
    pub(super) fn add(
        &mut self,
        uri: &str,
        document: Document,
        default: Draft,
        others: &[Other<'_>],
    ) -> Result<Doc, String> {
        let doc = self.documents.len() as Doc;
        self.documents.push(document);
        let view = self.view(doc);
        let end = view.end(0);
        let dialect = match view.get(0, "$schema").map(|at| view.string(at)) {
            Some(name) => dialect(&name, others),
            None => Some(Dialect::of(default)),
        };
        let uris = vec![uri.to_owned()];
        self.resources.push(Resource { doc, root: 0, end, uris, dialect, anchors: Vec::new() });
        self.find_identifiers(doc, self.resources.len() as ResourceId - 1, default, others);
        Ok(doc)
    }

    /// Looks for identifiers where schemas are. What keywords of others hold is not looked at.
    fn find_identifiers(&mut self, doc: Doc, root: ResourceId, default: Draft, others: &[Other<'_>]) {
        let mut open: Vec<(At, ResourceId)> = vec![(0, root)];
        while let Some((at, mut id)) = open.pop() {
            let view = self.view(doc);
            let Some(resource) = self.resources.get(id as usize) else { return };
            let mut dialect = resource.dialect.unwrap_or(Dialect::of(default));
            let text = |name: &str| view.get(at, name).and_then(|at| view.as_string(at));
            // In draft 7 a reference is all that its schema says.
            let is_reference = dialect.draft == Draft::Draft7 && view.get(at, "$ref").is_some();
            let name = text("$id").filter(|_| !is_reference).unwrap_or_default();
            let (name, fragment) = uri::split(&name);
            let base = resource.uris.first().map_or("", String::as_str);
            let uri = (!name.is_empty()).then(|| uri::resolve(base, name));
            if let Some(named) = text("$schema").filter(|_| uri.is_some() && at != 0) {
                dialect = self::dialect(&named, others).unwrap_or(dialect);
            }
            let is_latest = dialect.draft == Draft::Draft2020;
            let mut anchors: Vec<Anchor> = Vec::new();
            if !is_latest && !fragment.is_empty() {
                anchors.push(Anchor { name: fragment.into_owned(), at, is_dynamic: false });
            }
            for (keyword, is_dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
                if let Some(name) = text(keyword).filter(|_| is_latest) {
                    anchors.push(Anchor { name: name.into_owned(), at, is_dynamic });
                }
            }
            let end = view.end(at);
            match (uri, self.resources.get_mut(id as usize)) {
                // It is still found where it was found.
                (Some(uri), Some(root)) if at == 0 => root.uris.insert(0, uri),
                (Some(uri), _) => {
                    id = self.resources.len() as ResourceId;
                    let (uris, dialect) = (vec![uri], Some(dialect));
                    self.resources.push(Resource { doc, root: at, end, uris, dialect, anchors: Vec::new() });
                }
                (None, _) => {}
            }
            if let Some(resource) = self.resources.get_mut(id as usize) {
                resource.anchors.append(&mut anchors);
            }
            let view = self.view(doc);
            for (name, value) in view.members(at) {
                let Some((_, holds)) = dialect.keyword(&view.string(name)) else { continue };
                open.extend(schemas(view, value, holds).map(|(_, at)| (at, id)));
            }
        }
    }

    /// The innermost resource that a schema lies in.
    pub(super) fn resource_of(&self, doc: Doc, at: At) -> ResourceId {
        let holds = |it: &&(usize, &Resource)| it.1.doc == doc && it.1.root <= at && at < it.1.end;
        let innermost = self.resources.iter().enumerate().filter(|it| holds(&it)).max_by_key(|it| it.1.root);
        innermost.map_or(0, |(id, _)| id as ResourceId)
    }

    /// Where the resource of this identifier begins, taken in from the other documents if need be.
    fn find(
        &mut self,
        uri: &str,
        default: Draft,
        others: &[Other<'_>],
    ) -> Result<Option<ResourceId>, String> {
        let position =
            |store: &Self| store.resources.iter().position(|it| it.uris.iter().any(|one| one == uri));
        if let Some(found) = position(self) {
            return Ok(Some(found as ResourceId));
        }
        let other = others.iter().find(|other| other.0 == uri).map(|other| (other.0, other.1, default));
        let Some((name, text, draft)) = other.or_else(|| meta::document_of(uri)) else { return Ok(None) };
        let document =
            Document::parse(text).map_err(|fault| format!("refers to \"{uri}\", which {fault}"))?;
        self.add(name, document, draft, others)?;
        Ok(position(self).map(|found| found as ResourceId))
    }

    /// What a reference leads to that stands in this resource.
    ///
    /// # Errors
    /// Says why it leads nowhere; completes a sentence that begins with the place of the reference.
    pub(super) fn resolve(
        &mut self,
        from: ResourceId,
        reference: &str,
        default: Draft,
        others: &[Other<'_>],
    ) -> Result<Target, String> {
        let (name, fragment) = uri::split(reference);
        let base =
            self.resources.get(from as usize).and_then(|it| it.uris.first()).map_or("", String::as_str);
        let wanted = uri::resolve(base, name);
        let found = if name.is_empty() { Some(from) } else { self.find(&wanted, default, others)? };
        let Some(resource) = found.and_then(|id| self.resources.get(id as usize)) else {
            return Err(format!(
                "refers to \"{wanted}\", which is not in the document; nothing is ever fetched"
            ));
        };
        let view = self.view(resource.doc);
        let mut target = Target { doc: resource.doc, at: resource.root, is_dynamic: false };
        if fragment.is_empty() || fragment.starts_with('/') {
            let at = if fragment.is_empty() {
                Some(resource.root)
            } else {
                view.pointed(resource.root, &fragment)
            };
            target.at = at.ok_or_else(|| format!("refers to \"{reference}\", but nothing is there"))?;
        } else {
            let anchor = resource.anchors.iter().find(|anchor| anchor.name == fragment);
            let anchor =
                anchor.ok_or_else(|| format!("refers to \"{reference}\", but no schema has that anchor"))?;
            target.at = anchor.at;
            target.is_dynamic = anchor.is_dynamic;
        }
        Ok(target)
    }

    /// All resources with a dynamic anchor of this name, and the schemas that have it.
    pub(super) fn dynamic_anchors<'s>(
        &'s self,
        name: &'s str,
    ) -> impl Iterator<Item = (ResourceId, Doc, At)> + 's {
        (0..).zip(&self.resources).filter_map(move |(id, resource)| {
            let anchor = resource.anchors.iter().find(|anchor| anchor.is_dynamic && anchor.name == name)?;
            Some((id, resource.doc, anchor.at))
        })
    }

    /// The identifier of the document of a schema, for a person.
    pub(super) fn uri_of(&self, doc: Doc) -> &str {
        let root = self.resources.iter().find(|it| it.doc == doc);
        root.and_then(|it| it.uris.first()).map_or("", String::as_str)
    }
}

/// The dialect of this name: one of ours, or one that says in a given document what it consists of.
fn dialect(name: &str, others: &[Other<'_>]) -> Option<Dialect> {
    if let Some(known) = Dialect::named(name) {
        return Some(known);
    }
    let (_, text) = others.iter().find(|other| other.0 == name)?;
    let document = Document::parse(text).ok()?;
    let view = document.view();
    let vocabularies = view.get(0, "$vocabulary")?;
    Dialect::of_vocabularies(
        view.members(vocabularies).map(|(name, value)| (view.string(name), view.is_true(value))),
    )
}

/// The schemas in the value of a keyword, with the name of each where it has one. Only what can be
/// a schema is one.
pub(super) fn schemas(view: View<'_>, value: At, holds: Holds) -> impl Iterator<Item = (Option<At>, At)> {
    let is_list = view.kind(value) == Kind::Array;
    let (one, list, map) = match holds {
        Holds::Nothing => (false, false, false),
        Holds::Schema => (!is_list, false, false),
        Holds::List => (false, is_list, false),
        Holds::Map => (false, false, true),
        Holds::SchemaOrList => (!is_list, is_list, false),
    };
    let one = one.then_some((None, value)).into_iter();
    let list = list.then(|| view.elements(value).map(|at| (None, at))).into_iter().flatten();
    let map = map.then(|| view.members(value).map(|(name, at)| (Some(name), at))).into_iter().flatten();
    one.chain(list).chain(map).filter(move |(_, at)| matches!(view.kind(*at), Kind::Object | Kind::Bool))
}

/// The keywords of a schema, each with its value.
pub(super) fn keywords(view: View<'_>, at: At, dialect: Dialect) -> [Option<At>; super::keyword::KEYWORDS] {
    let mut values = [None; super::keyword::KEYWORDS];
    for (name, value) in view.members(at) {
        if let Some((keyword, _)) = dialect.keyword(&view.string(name)) {
            values[keyword as usize] = Some(value);
        }
    }
    // In draft 7 a reference is all that its schema says.
    if dialect.draft == Draft::Draft7 && values[Keyword::Ref as usize].is_some() {
        let reference = values[Keyword::Ref as usize];
        values = [None; super::keyword::KEYWORDS];
        values[Keyword::Ref as usize] = reference;
    }
    values
}
