//! What is read of one method of a contract.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericArgument, Ident, Lit, Pat, PathArguments,
    Result, ReturnType, TraitItemFn, Type,
};

/// One method of a contract.
pub(crate) struct ContractMethod {
    pub(crate) name: Ident,
    /// The name of its variant.
    pub(crate) variant: Ident,
    pub(crate) verb: Ident,
    pub(crate) group: Group,
    /// The body, with the name of its parameter.
    pub(crate) body: Option<(Ident, Type)>,
    /// Whether it wants the context.
    pub(crate) context: bool,
    /// Whether the context comes before the body.
    pub(crate) context_first: bool,
    pub(crate) is_async: bool,
    /// The type of the answer.
    pub(crate) answer: TokenStream,
    /// Whether it returns a `Result`.
    pub(crate) fallible: bool,
    /// `#[submit(job)]`.
    pub(crate) job: bool,
    /// `#[update(rollback)]`.
    pub(crate) rollback: bool,
    /// The period of `#[every(…)]`, in seconds.
    pub(crate) every: Option<f64>,
    /// `#[notified]`: its body is a notification.
    pub(crate) notified: bool,
    pub(crate) docs: String,
}

/// The group that the receiver decides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Concurrent,
    Exclusive,
    Teardown,
    Independent,
}

const VERBS: &[(&str, &str)] = &[
    ("query", "Query"),
    ("insert", "Insert"),
    ("update", "Update"),
    ("upsert", "Upsert"),
    ("delete", "Delete"),
    ("replace", "Replace"),
    ("submit", "Submit"),
    ("drop", "Drop"),
    ("create", "Create"),
    ("notified", "Notify"),
    ("every", "Submit"),
];

/// What all services are called by: an operation of such a name would not be reached by it.
const UNIFORM: [&str; 8] = [
    "get",
    "lookup",
    "replace",
    "patch",
    "patch_json",
    "save",
    "drop",
    "unsubscribe",
];

impl ContractMethod {
    /// Reads a method, and takes the attributes that are ours off it.
    pub(crate) fn read(item: &mut TraitItemFn) -> Result<Self> {
        let name = item.sig.ident.clone();
        let mut method = ContractMethod {
            variant: camel(&name.unraw()),
            verb: Ident::new("Query", Span::call_site()),
            group: Group::Independent,
            body: None,
            context: false,
            context_first: false,
            is_async: item.sig.asyncness.is_some(),
            answer: quote!(()),
            fallible: false,
            job: false,
            rollback: false,
            every: None,
            notified: false,
            docs: String::new(),
            name,
        };
        let verb = method.read_attributes(&mut item.attrs)?;
        method.read_inputs(item)?;
        method.read_output(&item.sig.output);
        let group = method.group;
        method.verb = match verb {
            Some(verb) => verb,
            None if group == Group::Exclusive => format_ident!("Update"),
            None if group == Group::Independent => format_ident!("Submit"),
            None if group == Group::Teardown => format_ident!("Drop"),
            None => format_ident!("Query"),
        };
        method.check(item)?;
        Ok(method)
    }

    /// Whether clients may call it.
    pub(crate) fn is_called(&self) -> bool {
        !self.notified && self.every.is_none()
    }

    /// Its name in calls: of `r#move` it is `move`.
    pub(crate) fn word(&self) -> String {
        self.name.unraw().to_string()
    }

    pub(crate) fn body_type(&self) -> TokenStream {
        self.body.as_ref().map_or(quote!(()), |(_, ty)| quote!(#ty))
    }

    fn read_attributes(&mut self, attributes: &mut Vec<Attribute>) -> Result<Option<Ident>> {
        let mut verb = None;
        let mut kept = Vec::new();
        for attribute in attributes.drain(..) {
            let path = attribute.path().clone();
            let found = VERBS.iter().find(|(name, _)| path.is_ident(name));
            let Some((word, named)) = found else {
                self.read_doc(&attribute);
                kept.push(attribute);
                continue;
            };
            if verb.is_some() {
                return Err(Error::new_spanned(
                    &path,
                    "a method has one verb: leave the other out",
                ));
            }
            verb = Some(format_ident!("{named}"));
            self.notified |= *word == "notified";
            if *word == "every" {
                self.every = Some(0.0);
            }
            if matches!(attribute.meta, syn::Meta::List(_)) {
                self.read_settings(&attribute)?;
            }
        }
        *attributes = kept;
        Ok(verb)
    }

    fn read_settings(&mut self, attribute: &Attribute) -> Result<()> {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("job") {
                self.job = true;
            } else if meta.path.is_ident("rollback") {
                self.rollback = true;
            } else if meta.path.is_ident("seconds") {
                let value: Lit = meta.value()?.parse()?;
                self.every = Some(match value {
                    Lit::Float(value) => value.base10_parse()?,
                    Lit::Int(value) => value.base10_parse()?,
                    _ => return Err(meta.error("seconds are a number: `#[every(seconds = 0.1)]`")),
                });
            } else {
                return Err(meta.error("known here: job, rollback, seconds"));
            }
            Ok(())
        })
    }

    fn read_doc(&mut self, attribute: &Attribute) {
        let syn::Meta::NameValue(meta) = &attribute.meta else {
            return;
        };
        if let (
            true,
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }),
        ) = (meta.path.is_ident("doc"), &meta.value)
        {
            if !self.docs.is_empty() {
                self.docs.push(' ');
            }
            self.docs.push_str(text.value().trim());
        }
    }

    fn read_inputs(&mut self, item: &TraitItemFn) -> Result<()> {
        for input in &item.sig.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    self.group = match (&receiver.reference, &receiver.mutability) {
                        (None, _) => Group::Teardown,
                        (Some(_), None) => Group::Concurrent,
                        (Some(_), Some(_)) => Group::Exclusive,
                    };
                }
                FnArg::Typed(typed) if is_context(&typed.ty) => {
                    self.context = true;
                    self.context_first = self.body.is_none();
                }
                FnArg::Typed(typed) => {
                    let Pat::Ident(name) = &*typed.pat else {
                        return Err(Error::new_spanned(&typed.pat, "the body has a plain name"));
                    };
                    if self.body.is_some() {
                        let why = "an operation has one body: put what it takes into one `#[data]` struct";
                        return Err(Error::new_spanned(typed, why));
                    }
                    self.body = Some((name.ident.clone(), (*typed.ty).clone()));
                }
            }
        }
        Ok(())
    }

    fn read_output(&mut self, output: &ReturnType) {
        let ReturnType::Type(_, ty) = output else {
            return;
        };
        self.answer = quote!(#ty);
        let Type::Path(path) = &**ty else {
            return;
        };
        let Some(last) = path.path.segments.last() else {
            return;
        };
        if let (true, PathArguments::AngleBracketed(arguments)) =
            (last.ident == "Result", &last.arguments)
            && let Some(GenericArgument::Type(answer)) = arguments.args.first()
        {
            self.answer = quote!(#answer);
            self.fallible = true;
        }
    }

    fn check(&self, item: &TraitItemFn) -> Result<()> {
        let refuse = |why: &str| Err(Error::new_spanned(&item.sig, why));
        if !item.sig.generics.params.is_empty() {
            return refuse("an operation has no parameters of types or lifetimes");
        }
        if self.is_called() && UNIFORM.contains(&&*self.word()) {
            return refuse("all services have an operation of this name; take another one");
        }
        if self.job && self.group != Group::Independent {
            return refuse(
                "a job has no receiver: `#[submit(job)] async fn name(cx: Cx, body: …)`",
            );
        }
        if self.job && !self.is_async {
            return refuse("a job is async: it goes on after its caller has been answered");
        }
        if self.rollback && self.group != Group::Exclusive {
            return refuse("only what changes the state can be rolled back: `&mut self`");
        }
        if self.notified && self.body.is_none() {
            return refuse("a notified method takes the notification: `by: Notification<…>`");
        }
        let may_notify = matches!(self.group, Group::Concurrent | Group::Exclusive);
        if (self.notified || self.every.is_some()) && !may_notify {
            return refuse("a notified or periodic method has `&self` or `&mut self`");
        }
        if let Some(seconds) = self.every {
            let span = Duration::try_from_secs_f64(seconds);
            if !span.is_ok_and(|span| span > Duration::ZERO) {
                return refuse(
                    "a period is a nanosecond or longer, and has an end: `#[every(seconds = 0.1)]`",
                );
            }
            if self.body.is_some() {
                return refuse("a periodic method has no body: nobody sends it");
            }
        }
        let changes = ["Insert", "Update", "Upsert", "Delete", "Replace"];
        if self.group == Group::Concurrent && changes.iter().any(|verb| self.verb == verb) {
            return refuse("this verb changes the state, so the method takes `&mut self`");
        }
        if self.group == Group::Exclusive && self.verb == "Query" {
            return refuse("a query changes nothing, so the method takes `&self`");
        }
        Ok(())
    }
}

/// `Cx` or `&Cx`, by whatever path, with or without parameters.
fn is_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_context(&reference.elem),
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "Cx"),
        _ => false,
    }
}

fn camel(name: &Ident) -> Ident {
    let words = name.to_string();
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let camel: String = words.split('_').map(word).collect();
    Ident::new(&camel, name.span())
}
