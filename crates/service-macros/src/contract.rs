//! What is read of the trait of a contract.

use crate::method::ContractMethod;
use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::{Error, ItemTrait, LitBool, LitStr, Result, Token, TraitItem, Type};

/// `uri = "…", state = …, replace = …, patch = …`.
pub(crate) struct Arguments {
    pub(crate) uri: LitStr,
    pub(crate) state: Type,
    pub(crate) replace: bool,
    pub(crate) patch: bool,
}

/// A contract as it is written.
pub(crate) struct Contract {
    pub(crate) arguments: Arguments,
    /// The trait without our attributes.
    pub(crate) item: ItemTrait,
    pub(crate) methods: Vec<ContractMethod>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut uri, mut state, mut replace, mut patch) = (None, None, true, false);
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "uri" => uri = Some(input.parse()?),
                "state" => state = Some(input.parse()?),
                "replace" => replace = input.parse::<LitBool>()?.value,
                "patch" => patch = input.parse::<LitBool>()?.value,
                _ => {
                    return Err(Error::new(
                        name.span(),
                        "known here: uri, state, replace, patch",
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let lacks = |what: &str| {
            let why =
                format!("a contract has {what}: #[contract(uri = \"shop:till/1\", state = Till)]");
            input.error(why)
        };
        Ok(Arguments {
            uri: uri.ok_or_else(|| lacks("a name of its own"))?,
            state: state.ok_or_else(|| lacks("a state"))?,
            replace,
            patch,
        })
    }
}

impl Contract {
    pub(crate) fn read(arguments: Arguments, mut item: ItemTrait) -> Result<Self> {
        if !item.generics.params.is_empty() {
            let why = "a contract has no parameters: its name stands for one set of operations";
            return Err(Error::new_spanned(&item.generics, why));
        }
        let mut methods = Vec::new();
        for member in &mut item.items {
            let TraitItem::Fn(function) = member else {
                return Err(Error::new_spanned(member, "a contract has operations only"));
            };
            methods.push(ContractMethod::read(function)?);
        }
        Ok(Contract {
            arguments,
            item,
            methods,
        })
    }
}
