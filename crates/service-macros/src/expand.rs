//! What is made of a contract.
//!
//! - `expand/requests.rs`: which operation a request is, and its body.
//! - `expand/serves.rs`: how the operations are carried out.

mod requests;
mod serves;

use crate::contract::Contract;
use crate::method::{ContractMethod, Group};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{ReturnType, TraitItem, parse_quote};

/// The names of what is made.
struct Names {
    marker: Ident,
    request: Ident,
    reply: Ident,
    outcome: Ident,
    client: Ident,
}

pub(crate) fn expand(contract: &Contract) -> TokenStream {
    let own = &contract.item.ident;
    let names = Names {
        marker: format_ident!("{own}Contract"),
        request: format_ident!("{own}Request"),
        reply: format_ident!("{own}Reply"),
        outcome: format_ident!("{own}Outcome"),
        client: format_ident!("{own}Client"),
    };
    let parts = [
        service_trait(contract),
        types(contract, &names),
        contract_impl(contract, &names),
        serves::serves_impl(contract, &names),
        client(contract, &names),
    ];
    quote!(#(#parts)*)
}

/// The trait as services implement it: async methods give futures that may be sent.
fn service_trait(contract: &Contract) -> TokenStream {
    let mut item = contract.item.clone();
    item.supertraits.push(parse_quote!(::core::marker::Sized));
    item.supertraits.push(parse_quote!(::core::marker::Send));
    item.supertraits.push(parse_quote!(::core::marker::Sync));
    item.supertraits.push(parse_quote!('static));
    for member in &mut item.items {
        let TraitItem::Fn(function) = member else {
            continue;
        };
        if function.sig.asyncness.take().is_some() {
            let output: syn::Type = match &function.sig.output {
                ReturnType::Default => parse_quote!(()),
                ReturnType::Type(_, ty) => (**ty).clone(),
            };
            function.sig.output = parse_quote! {
                -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
            };
            if let Some(block) = &function.default {
                function.default = Some(parse_quote!({ async move #block }));
            }
        }
    }
    quote!(#item)
}

fn types(contract: &Contract, names: &Names) -> TokenStream {
    let visible = &contract.item.vis;
    let Names {
        marker,
        request,
        reply,
        outcome,
        client,
    } = names;
    let own = contract.item.ident.to_string();
    let requests = contract.methods.iter().map(|method| {
        let (variant, body, docs) = (&method.variant, method.body_type(), &method.docs);
        quote!(#[doc = #docs] #variant(#body))
    });
    let called = || contract.methods.iter().filter(|method| method.is_called());
    let replies = called().map(|method| {
        let (variant, answer) = (&method.variant, answer_of(method));
        quote!(#[doc(hidden)] #variant(::motet_service::macros::To<#answer>))
    });
    let outcomes = called().map(|method| {
        let (variant, answer) = (&method.variant, answer_of(method));
        quote!(#[doc(hidden)] #variant(::core::result::Result<#answer, ::motet_service::Fault>))
    });
    let [marks, asks] = [
        format!("The contract [`{own}`], as a type."),
        format!("The operations of [`{own}`] with their bodies."),
    ];
    let calls = format!("Calls a service that has the contract [`{own}`].");
    quote! {
        #[doc = #marks]
        #[derive(Debug, Clone, Copy)]
        #visible struct #marker;

        #[doc = #asks]
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        #visible enum #request { #(#requests,)* }

        #[doc(hidden)]
        #[derive(Debug)]
        #visible enum #reply { #(#replies,)* }

        #[doc(hidden)]
        #[derive(Debug)]
        #visible enum #outcome { #(#outcomes,)* Nothing, Misplaced }

        #[doc = #calls]
        #[derive(Debug, Clone)]
        #visible struct #client(::motet_service::Client<#marker>);
    }
}

fn operation(number: usize, method: &ContractMethod) -> TokenStream {
    let (name, verb, docs) = (method.word(), &method.verb, &method.docs);
    let group = group_name(method.group);
    let (body, answer) = match method.notified {
        true => (quote!(()), quote!(())),
        false => (method.body_type(), answer_of(method)),
    };
    let (job, rollback, called) = (method.job, method.rollback, method.is_called());
    let is_async = method.is_async;
    quote! {
        ::motet_service::Operation {
            name: #name,
            verb: ::motet_service::Verb::#verb,
            group: ::motet_service::Group::#group,
            about: #docs,
            body: ::motet_service::macros::body_schema::<#body>,
            answer: ::motet_service::macros::schema::<#answer>,
            job: #job,
            rollback: #rollback,
            is_async: #is_async,
            number: #number,
            called: #called,
        }
    }
}

/// What a client is answered: of a job, where it is.
fn answer_of(method: &ContractMethod) -> TokenStream {
    match method.job {
        true => quote!(::motet_service::JobRef),
        false => method.answer.clone(),
    }
}

fn group_name(group: Group) -> Ident {
    match group {
        Group::Concurrent => format_ident!("Concurrent"),
        Group::Exclusive => format_ident!("Exclusive"),
        Group::Teardown => format_ident!("Teardown"),
        Group::Independent => format_ident!("Independent"),
    }
}

fn contract_impl(contract: &Contract, names: &Names) -> TokenStream {
    let Names {
        marker,
        request,
        reply,
        outcome,
        client,
    } = names;
    let (uri, state) = (&contract.arguments.uri, &contract.arguments.state);
    let (replace, patch) = (contract.arguments.replace, contract.arguments.patch);
    let operations = contract.methods.iter().enumerate();
    let operations = operations.map(|(number, method)| operation(number, method));
    let of_requests = requests::of_requests(contract, names);
    let of_replies = of_replies(contract, names);
    let of_outcomes = of_outcomes(contract, names);
    quote! {
        impl ::motet_service::Contract for #marker {
            const URI: &'static str = #uri;
            const REPLACE: bool = #replace;
            const PATCH: bool = #patch;
            const OPERATIONS: &'static [::motet_service::Operation] = &[#(#operations,)*];
            type State = #state;
            type Request = #request;
            type Reply = #reply;
            type Outcome = #outcome;
            type Client = #client;

            #of_requests
            #of_replies
            #of_outcomes
        }
    }
}

/// The methods that called operations have, made for each variant.
fn variants(contract: &Contract, make: impl Fn(&Ident) -> TokenStream) -> Vec<TokenStream> {
    let called = contract.methods.iter().filter(|method| method.is_called());
    called.map(|method| make(&method.variant)).collect()
}

/// What is done with the place of an answer.
fn of_replies(contract: &Contract, names: &Names) -> TokenStream {
    let Names { reply, outcome, .. } = names;
    let refusals = variants(
        contract,
        |v| quote!(#reply::#v(to) => ::motet_service::macros::refuse(to, fault)),
    );
    let posts = variants(
        contract,
        |v| quote!((#reply::#v(to), #outcome::#v(result)) => ::motet_service::macros::answer(to, result)),
    );
    let stored = variants(
        contract,
        |v| quote!(#reply::#v(to) => ::motet_service::macros::answer_stored(to, value)),
    );
    quote! {
        #[allow(unused_variables)]
        fn refuse(reply: #reply, fault: ::motet_service::Fault) {
            match reply { #(#refusals,)* }
        }

        #[allow(unreachable_patterns, unused_variables)]
        fn post(reply: #reply, outcome: #outcome) -> bool {
            match (reply, outcome) {
                #(#posts,)*
                (reply, _) => {
                    Self::refuse(reply, ::motet_service::macros::misplaced());
                    false
                }
            }
        }

        #[allow(unused_variables)]
        fn post_stored(reply: #reply, value: ::motet_service::Value) {
            match reply { #(#stored,)* }
        }
    }
}

/// What is read of an answer.
fn of_outcomes(contract: &Contract, names: &Names) -> TokenStream {
    let outcome = &names.outcome;
    let faults = variants(
        contract,
        |v| quote!(#outcome::#v(result) => result.as_ref().err()),
    );
    let values = variants(
        contract,
        |v| quote!(#outcome::#v(result) => ::motet_service::macros::outcome(result)),
    );
    quote! {
        fn fault(outcome: &#outcome) -> ::core::option::Option<&::motet_service::Fault> {
            match outcome {
                #(#faults,)*
                #outcome::Nothing | #outcome::Misplaced => ::core::option::Option::None,
            }
        }

        fn value(
            outcome: &#outcome,
        ) -> ::core::result::Result<::motet_service::Value, ::motet_service::Fault> {
            match outcome {
                #(#values,)*
                #outcome::Nothing => ::core::result::Result::Ok(::motet_service::Value::Null),
                #outcome::Misplaced => {
                    ::core::result::Result::Err(::motet_service::macros::misplaced())
                }
            }
        }
    }
}

/// A function that takes the answer of an operation out of its outcome.
fn read_outcome(names: &Names, variant: &Ident) -> TokenStream {
    let outcome = &names.outcome;
    quote!(|outcome| match outcome {
        #outcome::#variant(result) => result,
        _ => ::core::result::Result::Err(::motet_service::macros::misplaced()),
    })
}

fn client(contract: &Contract, names: &Names) -> TokenStream {
    let Names {
        marker,
        request,
        reply,
        client,
        ..
    } = names;
    let calls = contract
        .methods
        .iter()
        .filter(|method| method.is_called())
        .map(|method| {
            let ContractMethod {
                name,
                variant,
                docs,
                ..
            } = method;
            let (answer, read) = (answer_of(method), read_outcome(names, variant));
            let (parameters, body) = match &method.body {
                Some((name, ty)) => (quote!(#name: #ty), quote!(#name)),
                None => (quote!(), quote!(())),
            };
            quote! {
                #[doc = #docs]
                pub fn #name(&self, #parameters) -> ::motet_service::Call<#marker, #answer> {
                    self.0.call(#request::#variant(#body), #reply::#variant, #read)
                }
            }
        });
    quote! {
        impl #client {
            #(#calls)*
        }

        impl ::core::convert::From<::motet_service::Client<#marker>> for #client {
            fn from(client: ::motet_service::Client<#marker>) -> Self {
                #client(client)
            }
        }

        impl ::motet_service::ContractClient for #client {
            type Contract = #marker;
        }

        impl ::core::ops::Deref for #client {
            type Target = ::motet_service::Client<#marker>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    }
}
