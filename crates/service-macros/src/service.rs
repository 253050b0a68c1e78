//! `#[derive(Service)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Data, DeriveInput, Error, Field, Fields, GenericArgument, LitStr, Path, PathArguments, Result,
    Type,
};

/// `#[service(contract = Drive, name = "sim-drive", start = …, stop = …, many)]`.
#[derive(Default)]
struct Settings {
    contract: Option<Path>,
    name: Option<LitStr>,
    start: Option<Ident>,
    stop: Option<Ident>,
    many: bool,
    unlisted: bool,
}

/// A field that is bound to a partner.
struct Partner<'a> {
    field: &'a Ident,
    /// The type of its client.
    client: Type,
    policy: Ident,
    optional: bool,
}

pub(crate) fn expand(item: &DeriveInput) -> Result<TokenStream> {
    let settings = Settings::read(item)?;
    let name = &item.ident;
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(
            name,
            "a service is a struct with a `#[state]` field",
        ));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(
            name,
            "the fields of a service have names",
        ));
    };
    let (mut state, mut partners, mut values) = (None, Vec::new(), Vec::new());
    for field in &fields.named {
        let ident = field.ident.as_ref().expect("a named field");
        if field.attrs.iter().any(|a| a.path().is_ident("state")) {
            state = Some(field);
            values.push(quote!(#ident: parts.take_state()));
        } else if let Some(partner) = Partner::read(field, ident)? {
            let (key, client) = (ident.to_string(), &partner.client);
            values.push(match partner.optional {
                true => quote!(#ident: parts.partner_if_there::<#client>(#key)?),
                false => quote!(#ident: parts.partner::<#client>(#key)?),
            });
            partners.push(partner);
        } else {
            values.push(quote!(#ident: ::core::default::Default::default()));
        }
    }
    let Some(state) = state else {
        let why = "a service has a state: `#[state] state: State<…>`";
        return Err(Error::new_spanned(name, why));
    };
    let state = state.ident.as_ref().expect("a named field");
    Ok(service_impl(item, &settings, state, &partners, &values))
}

fn service_impl(
    item: &DeriveInput,
    settings: &Settings,
    state: &Ident,
    partners: &[Partner<'_>],
    values: &[TokenStream],
) -> TokenStream {
    let name = &item.ident;
    let contract = settings.marker();
    let kind = settings
        .name
        .as_ref()
        .map_or_else(|| kebab(name), LitStr::value);
    let (many, listed) = (settings.many, !settings.unlisted);
    let needs = partners.iter().map(|partner| {
        let (key, client) = (partner.field.to_string(), &partner.client);
        let (policy, optional) = (&partner.policy, partner.optional);
        quote!(::motet_service::Partner::of::<#client>(
            #key, ::motet_service::Policy::#policy, #optional
        ))
    });
    let hooks = hooks(name, settings);
    quote! {
        #[allow(clippy::manual_async_fn, unused_variables)]
        impl ::motet_service::Service for #name {
            type Contract = #contract;
            const NAME: &'static str = #kind;
            const MANY: bool = #many;
            const LISTED: bool = #listed;

            fn partners() -> ::std::vec::Vec<::motet_service::Partner> {
                ::std::vec![#(#needs,)*]
            }

            fn build(
                mut parts: ::motet_service::Parts<#contract>,
            ) -> ::core::result::Result<Self, ::motet_service::Fault> {
                ::core::result::Result::Ok(#name { #(#values,)* })
            }

            fn state(
                &self,
            ) -> &::motet_service::State<<#contract as ::motet_service::Contract>::State> {
                &self.#state
            }

            fn state_mut(
                &mut self,
            ) -> &mut ::motet_service::State<<#contract as ::motet_service::Contract>::State> {
                &mut self.#state
            }

            #hooks
        }
    }
}

/// What runs before and after everything else.
fn hooks(name: &Ident, settings: &Settings) -> TokenStream {
    let start = match &settings.start {
        Some(start) => quote!(#name::#start(self, cx)),
        None => quote!(async { ::core::result::Result::Ok(()) }),
    };
    let stop = match &settings.stop {
        Some(stop) => quote!(#name::#stop(self, cx)),
        None => quote!(async { ::core::mem::drop(self) }),
    };
    quote! {
            fn start(
                &mut self,
                cx: &::motet_service::Cx,
            ) -> impl ::core::future::Future<
                Output = ::core::result::Result<(), ::motet_service::Fault>,
            > + ::core::marker::Send {
                #start
            }

            fn stop(
                self,
                cx: &::motet_service::Cx,
            ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send {
                #stop
            }
    }
}

impl Settings {
    fn read(item: &DeriveInput) -> Result<Self> {
        let mut settings = Settings::default();
        for attribute in &item.attrs {
            if !attribute.path().is_ident("service") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("contract") {
                    settings.contract = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("name") {
                    settings.name = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("start") {
                    settings.start = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("stop") {
                    settings.stop = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("many") {
                    settings.many = true;
                } else if meta.path.is_ident("unlisted") {
                    settings.unlisted = true;
                } else {
                    return Err(
                        meta.error("known here: contract, name, start, stop, many, unlisted")
                    );
                }
                Ok(())
            })?;
        }
        if settings.contract.is_none() {
            let why = "a service says which contract it has: `#[service(contract = Drive)]`";
            return Err(Error::new_spanned(&item.ident, why));
        }
        Ok(settings)
    }

    /// The type that stands for the contract.
    fn marker(&self) -> Path {
        let mut path = self.contract.clone().expect("it was checked");
        let last = path.segments.last_mut().expect("a path has a segment");
        last.ident = format_ident!("{}Contract", last.ident);
        path
    }
}

impl<'a> Partner<'a> {
    fn read(field: &'a Field, ident: &'a Ident) -> Result<Option<Self>> {
        let Some(attribute) = field.attrs.iter().find(|a| a.path().is_ident("partner")) else {
            return Ok(None);
        };
        let mut partner = Partner {
            field: ident,
            client: field.ty.clone(),
            policy: format_ident!("UsePartnerListEntry"),
            optional: false,
        };
        if matches!(attribute.meta, syn::Meta::List(_)) {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("policy") {
                    return Err(
                        meta.error("known here: policy; an optional partner is an `Option`")
                    );
                }
                partner.policy = meta.value()?.parse()?;
                Ok(())
            })?;
        }
        if let Some(inner) = option_of(&field.ty) {
            partner.client = inner;
            partner.optional = true;
        }
        Ok(Some(partner))
    }
}

fn option_of(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) if last.ident == "Option" => Some(inner.clone()),
        _ => None,
    }
}

fn kebab(name: &Ident) -> String {
    let mut kebab = String::new();
    for letter in name.to_string().chars() {
        if letter.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(letter.to_ascii_lowercase());
    }
    kebab
}
