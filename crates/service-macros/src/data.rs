//! `#[data]` and `#[derive(IntoFault)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

/// What every body, answer and state derives.
pub(crate) fn data(item: &DeriveInput) -> TokenStream {
    quote! {
        #[derive(
            ::core::clone::Clone,
            ::core::fmt::Debug,
            ::motet_service::serde::Serialize,
            ::motet_service::serde::Deserialize,
            ::motet_service::schemars::JsonSchema,
        )]
        #[serde(crate = "::motet_service::serde")]
        #[schemars(crate = "::motet_service::schemars")]
        #item
    }
}

/// A fault of each variant, with the code that its attribute names.
pub(crate) fn into_fault(item: &DeriveInput) -> Result<TokenStream> {
    let name = &item.ident;
    let Data::Enum(data) = &item.data else {
        let why = "IntoFault is for enums: a variant is a fault, `#[fault(UnknownEntry)]` its code";
        return Err(Error::new_spanned(name, why));
    };
    let mut arms = Vec::new();
    for variant in &data.variants {
        let ident = &variant.ident;
        let pattern = match &variant.fields {
            Fields::Named(_) => quote!({ .. }),
            Fields::Unnamed(_) => quote!((..)),
            Fields::Unit => quote!(),
        };
        let mut code = quote!(OperationFailed);
        for attribute in &variant.attrs {
            if attribute.path().is_ident("fault") {
                let named: Ident = attribute.parse_args()?;
                code = quote!(#named);
            }
        }
        arms.push(quote!(#name::#ident #pattern => ::motet_service::FaultCode::#code));
    }
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::core::convert::From<#name #arguments> for ::motet_service::Fault #bounds {
            fn from(error: #name #arguments) -> Self {
                let code = match &error { #(#arms,)* };
                ::motet_service::Fault::of_domain(code, &error)
            }
        }
    })
}
