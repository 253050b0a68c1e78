//! What requests tell: which operation each is, its body, and a call by name.

use super::{Names, read_outcome};
use crate::contract::Contract;
use crate::method::ContractMethod;
use proc_macro2::TokenStream;
use quote::quote;

/// Which operation a request is, its body, and a call by name.
pub(super) fn of_requests(contract: &Contract, names: &Names) -> TokenStream {
    let Names {
        marker,
        request,
        reply,
        ..
    } = names;
    let all = &contract.methods;
    let numbers = all.iter().enumerate().map(|(at, ContractMethod { variant, .. })| {
        quote!(#request::#variant(..) => &<#marker as ::motet_service::Contract>::OPERATIONS[#at])
    });
    let null = quote!(::core::result::Result::Ok(::motet_service::Value::Null));
    let bodies = all.iter().map(
        |ContractMethod {
             variant, notified, ..
         }| match notified {
            true => quote!(#request::#variant(_) => #null),
            false => {
                quote!(#request::#variant(ref body) => ::motet_service::macros::to_value(body))
            }
        },
    );
    let lengths = all.iter().map(|method| length(method, names));
    let called = all.iter().filter(|method| method.is_called());
    let named = called.map(|method| {
        let (name, variant) = (method.word(), &method.variant);
        let read = read_outcome(names, variant);
        quote!(#name => ::motet_service::macros::named(
            client, body, options, #request::#variant, #reply::#variant, #read,
        ))
    });
    quote! {
        #[allow(unreachable_code, unused_variables)]
        fn operation(request: &#request) -> &'static ::motet_service::Operation {
            match *request { #(#numbers,)* }
        }

        #[allow(unused_variables)]
        fn body(
            request: &#request,
        ) -> ::core::result::Result<::motet_service::Value, ::motet_service::Fault> {
            match *request { #(#bodies,)* }
        }

        #[allow(unused_variables)]
        fn length(request: &#request) -> usize {
            match *request { #(#lengths,)* }
        }

        #[allow(unused_variables)]
        fn call_named(
            client: ::motet_service::Client<Self>,
            operation: &str,
            body: ::motet_service::Value,
            options: ::motet_service::Options,
        ) -> ::motet_service::macros::Answering {
            match operation {
                #(#named,)*
                _ => ::motet_service::macros::unknown::<Self>(operation),
            }
        }
    }
}

/// How long the body of a request is, as an arm.
fn length(method: &ContractMethod, names: &Names) -> TokenStream {
    let (request, variant) = (&names.request, &method.variant);
    let length = match method.notified {
        true => quote!(told_length),
        false => quote!(length),
    };
    quote!(#request::#variant(ref body) => ::motet_service::macros::#length(body))
}
