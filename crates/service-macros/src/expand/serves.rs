//! How the operations of a contract are carried out by a service.

use super::Names;
use crate::contract::Contract;
use crate::method::{ContractMethod, Group};
use proc_macro2::TokenStream;
use quote::quote;

/// A call of a method of the service, as an arm that gives an outcome.
fn arm(method: &ContractMethod, names: &Names, receiver: Option<TokenStream>) -> TokenStream {
    let Names {
        request, outcome, ..
    } = names;
    let (variant, name) = (&method.variant, &method.name);
    let context = match (method.context, method.group) {
        (false, _) => None,
        (true, Group::Independent) => Some(quote!(cx.clone())),
        (true, _) => Some(quote!(cx)),
    };
    let body = method.body.as_ref().map(|_| quote!(body));
    let arguments: Vec<TokenStream> = match method.context_first {
        true => [receiver, context, body].into_iter().flatten().collect(),
        false => [receiver, body, context].into_iter().flatten().collect(),
    };
    let mut call = quote!(S::#name(#(#arguments),*));
    if method.job {
        return job_arm(method, names, &call);
    }
    if method.is_async {
        call = quote!(#call.await);
    }
    let ignored = (method.body.is_none()).then(|| quote!(let () = body;));
    if !method.is_called() {
        // What it returns goes nowhere: a fault is told in the log.
        let told = match method.fallible {
            true => quote!(if let ::core::result::Result::Err(error) = #call {
                cx.warn(&::motet_service::Fault::from(error).to_string());
            }),
            false => quote!(#call;),
        };
        return quote!(#request::#variant(body) => { #ignored #told #outcome::Nothing });
    }
    let result = match method.fallible {
        true => quote!(#call.map_err(::motet_service::Fault::from)),
        false => quote!(::core::result::Result::Ok(#call)),
    };
    quote!(#request::#variant(body) => { #ignored #outcome::#variant(#result) })
}

/// A job is started and answers with where it is.
fn job_arm(method: &ContractMethod, names: &Names, call: &TokenStream) -> TokenStream {
    let Names {
        request, outcome, ..
    } = names;
    let (variant, name) = (&method.variant, method.word());
    let result = match method.fallible {
        true => quote!(#call.await.map_err(::motet_service::Fault::from)),
        false => quote!(::core::result::Result::Ok(#call.await)),
    };
    quote! {
        #request::#variant(body) => {
            let goal = ::motet_service::macros::to_value(&body);
            let started = cx.start_job(#name, goal, move |cx| async move {
                ::motet_service::macros::job_result(#result)
            }).await;
            #outcome::#variant(started)
        }
    }
}

/// The arms of the methods of a group that are not async.
fn arms_now(contract: &Contract, names: &Names, group: Group) -> Vec<TokenStream> {
    let of_group = contract.methods.iter().filter(|method| {
        let waits = method.is_async;
        method.group == group && !waits
    });
    let service = || Some(quote!(service));
    of_group
        .map(|method| arm(method, names, service()))
        .collect()
}

/// How operations are carried out whose methods are not async.
fn serves_now(contract: &Contract, names: &Names) -> TokenStream {
    let Names {
        request, outcome, ..
    } = names;
    let concurrent = arms_now(contract, names, Group::Concurrent);
    let exclusive = arms_now(contract, names, Group::Exclusive);
    quote! {
        fn concurrent_now(
            service: &S,
            cx: &::motet_service::Cx,
            request: #request,
        ) -> #outcome {
            match request { #(#concurrent)* _ => #outcome::Misplaced }
        }

        fn exclusive_now(
            service: &mut S,
            cx: &::motet_service::Cx,
            request: #request,
        ) -> #outcome {
            match request { #(#exclusive)* _ => #outcome::Misplaced }
        }
    }
}

pub(super) fn serves_impl(contract: &Contract, names: &Names) -> TokenStream {
    let Names {
        marker,
        request,
        outcome,
        ..
    } = names;
    let own = &contract.item.ident;
    let arms = |group: Group, receiver: Option<TokenStream>| -> Vec<TokenStream> {
        let members = contract.methods.iter();
        let members = members.filter(|method| method.group == group);
        let arm = |method| arm(method, names, receiver.clone());
        members.map(arm).collect()
    };
    let concurrent = arms(Group::Concurrent, Some(quote!(service)));
    let exclusive = arms(Group::Exclusive, Some(quote!(service)));
    let teardown = arms(Group::Teardown, Some(quote!(service)));
    let independent = arms(Group::Independent, None);
    let now = serves_now(contract, names);
    let beats = contract
        .methods
        .iter()
        .filter_map(|ContractMethod { variant, every, .. }| {
            let seconds = (*every)?;
            let span = quote!(::core::time::Duration::from_secs_f64(#seconds));
            Some(quote!((#span, #request::#variant(()))))
        });
    quote! {
        #[allow(unreachable_patterns, unused_variables, clippy::manual_async_fn, clippy::unit_arg,
            clippy::let_unit_value)]
        impl<S: #own> ::motet_service::Serves<S> for #marker {
            fn concurrent<'a>(
                service: &'a S,
                cx: &'a ::motet_service::Cx,
                request: #request,
            ) -> impl ::core::future::Future<Output = #outcome> + ::core::marker::Send + 'a {
                async move { match request { #(#concurrent)* _ => #outcome::Misplaced } }
            }

            fn exclusive<'a>(
                service: &'a mut S,
                cx: &'a ::motet_service::Cx,
                request: #request,
            ) -> impl ::core::future::Future<Output = #outcome> + ::core::marker::Send + 'a {
                async move { match request { #(#exclusive)* _ => #outcome::Misplaced } }
            }

            #now

            fn teardown(
                service: S,
                cx: &::motet_service::Cx,
                request: #request,
            ) -> impl ::core::future::Future<Output = #outcome> + ::core::marker::Send {
                async move { match request { #(#teardown)* _ => #outcome::Misplaced } }
            }

            fn independent(
                cx: &::motet_service::Cx,
                request: #request,
            ) -> impl ::core::future::Future<Output = #outcome> + ::core::marker::Send {
                async move { match request { #(#independent)* _ => #outcome::Misplaced } }
            }

            fn beats() -> ::std::vec::Vec<(::core::time::Duration, #request)> {
                ::std::vec![#(#beats,)*]
            }
        }
    }
}
